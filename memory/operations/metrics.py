"""Count what is remembered and done, for pages, commands and Prometheus."""

import math
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Q, QuerySet, Sum

from memory import jobs, working
from memory.extraction import ingest
from memory.llm import choose
from memory.models import (
    Breaker,
    Chat,
    Episode,
    Fact,
    LlmCall,
    Message,
    Notice,
    OutboxItem,
    Pattern,
    Ruling,
    SelfCheck,
    Space,
    WorkingNote,
)
from memory.operations import health, replica

Sample = tuple[dict[str, Any], float]


def prometheus_text(*, now: datetime) -> str:
    """Return every metric in the exposition format of Prometheus."""
    blocks = [_block(name, kind, says, samples) for name, kind, says, samples in _all(now)]
    return "\n".join(blocks) + "\n"


def _all(now: datetime) -> Iterator[tuple[str, str, str, Iterable[Sample]]]:
    yield "build_info", "gauge", "The running version.", [({"version": settings.VERSION}, 1)]
    waiting = Message.objects.filter(role=Message.Role.USER, handled_at=None).count()
    yield "messages_total", "counter", "Messages kept, by role.", _grouped(Message, "role")
    yield "messages_unanswered", "gauge", "Messages that wait.", [({}, waiting)]
    yield "facts", "gauge", "Facts, by status.", _grouped(Fact, "status")
    yield "episodes", "gauge", "Episodes, by status.", _grouped(Episode, "status")
    yield "jobs", "gauge", "Jobs, by state.", [({"state": k}, v) for k, v in jobs.counts().items()]
    oldest = jobs.oldest_waiting(now=now).total_seconds()
    yield "job_oldest_seconds", "gauge", "Age of the oldest waiting job.", [({}, oldest)]
    yield "outbox", "gauge", "What is to be sent, by state.", _outbox()
    alive = health.living_workers(now=now)
    yield "workers", "gauge", "Workers that beat in the last 30 seconds.", [({}, alive)]
    if replica.is_there():
        size, seconds = replica.lag() or (math.inf, math.inf)
        yield "replica_behind_bytes", "gauge", "Log the replica has not replayed.", [({}, size)]
        yield "replica_behind_seconds", "gauge", "How old what it shows is.", [({}, seconds)]
    unseen = Notice.objects.filter(seen_at=None).count()
    yield "notices_unseen", "gauge", "Notices nobody has seen.", [({}, unseen)]
    yield "selfchecks_total", "counter", "Own view of replies.", _grouped(SelfCheck, "quality")
    yield from _llm()
    yield "breaker_open", "gauge", "Whether a provider is left alone.", _breakers(now)


def _llm() -> Iterator[tuple[str, str, str, Iterable[Sample]]]:
    rows = list(
        LlmCall.objects.values("provider", "purpose", "ok")
        .annotate(n=Count("pk"), cost=Sum("cost"), ms=Sum("ms"))
        .annotate(tokens_in=Sum("tokens_in"), tokens_out=Sum("tokens_out"))
        .order_by("provider", "purpose", "ok")
    )
    for name, says, field in (
        ("llm_calls_total", "Calls of language models.", "n"),
        ("llm_cost_dollars_total", "What they cost.", "cost"),
        ("llm_milliseconds_total", "How long they took.", "ms"),
        ("llm_tokens_in_total", "Tokens sent.", "tokens_in"),
        ("llm_tokens_out_total", "Tokens received.", "tokens_out"),
    ):
        yield name, "counter", says, [(_labels(row), float(row[field] or 0)) for row in rows]


def _labels(row: dict) -> dict[str, Any]:
    ok = "yes" if row["ok"] else "no"
    return {"provider": row["provider"], "purpose": row["purpose"], "ok": ok}


def _grouped(model, field: str) -> list[Sample]:
    rows = model.objects.values(field).annotate(n=Count("pk")).order_by(field)
    return [({field: row[field]}, row["n"]) for row in rows]


def _outbox() -> list[Sample]:
    counts = OutboxItem.objects.aggregate(
        waiting=Count("pk", filter=Q(delivered_at=None, failed_at=None)),
        failed=Count("pk", filter=Q(failed_at__isnull=False)),
    )
    return [({"state": state}, n) for state, n in counts.items()]


def _breakers(now: datetime) -> list[Sample]:
    rows = Breaker.objects.order_by("provider", "model")
    return [
        (
            {"provider": row.provider, "model": row.model},
            float(choose.state_of(row.opened_at, now=now) == "open"),
        )
        for row in rows
    ]


def _block(name: str, kind: str, says: str, samples: Iterable[Sample]) -> str:
    full = f"keno_{name}"
    lines = [f"# HELP {full} {says}", f"# TYPE {full} {kind}"]
    told = ((_braces(labels), f"{value:g}".replace("inf", "+Inf")) for labels, value in samples)
    return "\n".join([*lines, *(f"{full}{labels} {value}" for labels, value in told)])


def _braces(labels: dict[str, Any]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inner}}}" if inner else ""


def _escaped(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def memory_counts(space: Space, *, chat: Chat | None = None, now: datetime | None = None) -> dict:
    """Count what is remembered by kind and status; with a chat, only what that chat has."""
    facts = Fact.objects.in_scope(chat) if chat else Fact.objects.in_space(space)
    episodes = Episode.objects.filter(space=space, **({"chat": chat} if chat else {}))
    messages = Message.objects.filter(space=space, **({"chat": chat} if chat else {}))
    return {
        "facts": _count_by(facts, "status") | {"pinned": facts.live().filter(pinned=True).count()},
        "kinds": _count_by(facts.live(), "kind"),
        "episodes": _count_by(episodes, "status"),
        "patterns": _count_by(Pattern.objects.filter(space=space), "status"),
        "working": _count_notes(space, now=now),
        "chats": Chat.objects.filter(space=space).count(),
        "messages": messages.aggregate(
            all=Count("pk"),
            waiting=Count("pk", filter=Q(role="user", ingested_at=None)),
            # Nothing was heard in them, so no model was asked.
            calls_saved=Count("pk", filter=Q(journal__contains=[{"reason": ingest.NOT_ASKED}])),
        ),
        "rulings": _count_by(Ruling.objects.filter(space=space, status="active"), "kind"),
        "notices": Notice.objects.filter(space=space, seen_at=None).count(),
    }


def _count_by(rows: QuerySet, field: str) -> dict[str, int]:
    """Count the rows of each value, in the order of the model's choices, without zeros."""
    counts = dict(rows.order_by().values_list(field).annotate(n=Count("pk")))
    choices = [value for value, _ in rows.model._meta.get_field(field).choices]
    return {value: counts[value] for value in choices if counts.get(value)}


def _count_notes(space: Space, *, now: datetime | None) -> dict[str, int]:
    notes = WorkingNote.objects.filter(space=space).exclude(**working.EMPTY).count()
    stale = working.stale(space, now=now).count()
    return {"active": notes - stale, "stale": stale}
