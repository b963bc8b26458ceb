"""Count what is remembered and done, for pages, commands and Prometheus."""

import math
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Q, QuerySet, Sum

from memory import jobs, models, working
from memory.extraction import ingest
from memory.llm import choose
from memory.models import Chat, Space
from memory.operations import health, replica

Sample = tuple[dict[str, Any], float]


def prometheus_text(*, now: datetime) -> str:
    """Return every metric in the exposition format of Prometheus."""
    blocks = [_block(name, kind, says, samples) for name, kind, says, samples in _all(now)]
    return "\n".join(blocks) + "\n"


def _all(now: datetime) -> Iterator[tuple[str, str, str, Iterable[Sample]]]:
    yield "build_info", "gauge", "The running version.", [({"version": settings.VERSION}, 1)]
    waiting = models.Message.objects.filter(role=models.Message.Role.USER, handled_at=None).count()
    yield "messages_total", "counter", "Messages kept, by role.", _grouped(models.Message, "role")
    yield "messages_unanswered", "gauge", "Messages that wait.", [({}, waiting)]
    yield "facts", "gauge", "Facts, by status.", _grouped(models.Fact, "status")
    yield "episodes", "gauge", "Episodes, by status.", _grouped(models.Episode, "status")
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
    unseen = models.Notice.objects.filter(seen_at=None).count()
    yield "notices_unseen", "gauge", "Notices nobody has seen.", [({}, unseen)]
    checks = _grouped(models.SelfCheck, "quality")
    yield "selfchecks_total", "counter", "Own view of replies.", checks
    yield from _llm()
    yield "breaker_open", "gauge", "Whether a provider is left alone.", _breakers(now)


def _llm() -> Iterator[tuple[str, str, str, Iterable[Sample]]]:
    rows: list[dict[str, Any]] = list(
        models.LlmCall.objects.values("provider", "purpose", "ok")
        .annotate(n=Count("pk"), cost=Sum("cost"), ms=Sum("ms"))
        .annotate(tokens_in=Sum("tokens_in"), tokens_out=Sum("tokens_out"))
        .order_by("provider", "purpose", "ok")
    )
    labels = [
        {name: row[name] for name in ("provider", "purpose")} | {"ok": "yes" if row["ok"] else "no"}
        for row in rows
    ]
    for name, says, field in (
        ("llm_calls_total", "Calls of language models.", "n"),
        ("llm_cost_dollars_total", "What they cost.", "cost"),
        ("llm_milliseconds_total", "How long they took.", "ms"),
        ("llm_tokens_in_total", "Tokens sent.", "tokens_in"),
        ("llm_tokens_out_total", "Tokens received.", "tokens_out"),
    ):
        values = (float(row[field] or 0) for row in rows)
        yield name, "counter", says, list(zip(labels, values, strict=True))


def _grouped(model, field: str) -> list[Sample]:
    rows = model.objects.values(field).annotate(n=Count("pk")).order_by(field)
    return [({field: row[field]}, row["n"]) for row in rows]


def _outbox() -> list[Sample]:
    counts = models.OutboxItem.objects.aggregate(
        waiting=Count("pk", filter=Q(delivered_at=None, failed_at=None)),
        failed=Count("pk", filter=Q(failed_at__isnull=False)),
    )
    return [({"state": state}, n) for state, n in counts.items()]


def _breakers(now: datetime) -> list[Sample]:
    rows = models.Breaker.objects.order_by("provider", "model")
    is_open = (float(choose.state_of(row.opened_at, now=now) == "open") for row in rows)
    labels = ({"provider": row.provider, "model": row.model} for row in rows)
    return list(zip(labels, is_open, strict=True))


def _block(name: str, kind: str, says: str, samples: Iterable[Sample]) -> str:
    full = f"keno_{name}"
    lines = [f"# HELP {full} {says}", f"# TYPE {full} {kind}"]
    for labels, value in samples:
        lines.append(f"{full}{_braces(labels)} {f'{value:g}'.replace('inf', '+Inf')}")
    return "\n".join(lines)


def _braces(labels: dict[str, Any]) -> str:
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "\n": " "})
    pairs = (f'{name}="{str(value).translate(escapes)}"' for name, value in labels.items())
    return f"{{{','.join(pairs)}}}" if labels else ""


def memory_counts(space: Space, *, chat: Chat | None = None, now: datetime | None = None) -> dict:
    """Count what is remembered by kind and status; with a chat, only what that chat has."""
    facts = models.Fact.objects.in_scope(chat) if chat else models.Fact.objects.in_space(space)
    scope: dict[str, Any] = {"space": space} | ({"chat": chat} if chat else {})
    episodes, messages = (m.objects.filter(**scope) for m in (models.Episode, models.Message))
    stale = working.stale(space, now=now).count()
    return {
        "facts": _count_by(facts, "status") | {"pinned": facts.live().filter(pinned=True).count()},
        "kinds": _count_by(facts.live(), "kind"),
        "episodes": _count_by(episodes, "status"),
        "patterns": _count_by(models.Pattern.objects.filter(space=space), "status"),
        "working": {"active": working.written(space).count() - stale, "stale": stale},
        "chats": models.Chat.objects.filter(space=space).count(),
        "messages": messages.aggregate(
            all=Count("pk"),
            waiting=Count("pk", filter=Q(role="user", ingested_at=None)),
            # No cue was found in them, so no model was asked.
            calls_saved=Count("pk", filter=Q(journal__contains=[{"reason": ingest.NOT_ASKED}])),
        ),
        "rulings": _count_by(models.Ruling.objects.filter(space=space, status="active"), "kind"),
        "notices": models.Notice.objects.filter(space=space, seen_at=None).count(),
    }


def _count_by(rows: QuerySet, field: str) -> dict[str, int]:
    """Count the rows of each value, in the order of the model's choices, without zeros."""
    counts = dict(rows.order_by().values_list(field).annotate(n=Count("pk")))
    choices = [value for value, _ in rows.model._meta.get_field(field).choices]
    return {value: counts[value] for value in choices if counts.get(value)}
