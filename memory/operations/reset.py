"""Reset a space's memory, tier by tier, as one undoable change; delete what is past its days."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction
from django.db.models import Exists, QuerySet
from django.utils import timezone

from memory import working
from memory.history import actors, audit
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import (
    Chat,
    DeadLetter,
    Episode,
    Fact,
    Identity,
    LlmCall,
    Message,
    Notice,
    OutboxItem,
    Pattern,
    Preference,
    Recall,
    RecallItem,
    Rule,
    Ruling,
    Space,
    WorkingNote,
)
from memory.models.prepared import prepared

BATCH = 1000


@dataclass(frozen=True)
class Tier:
    """What a reset does to one kind of memory. `values` of None deletes for good."""

    rows: Callable[[Space], models.QuerySet]
    values: Callable[[datetime], dict] | None
    effect: str


def _trashed(now: datetime) -> dict:
    return {"status": "trashed", "trashed_at": now, "updated_at": now}


def _discarded(now: datetime) -> dict:
    gone = {"status": "discarded", "discarded_at": now, "discard_reason": "reset"}
    return gone | {"updated_at": now}


TIERS = {
    "facts": Tier(
        lambda s: Fact.objects.in_space(s).exclude(status="trashed"), _trashed, "to the trash"
    ),
    "episodes": Tier(
        lambda s: Episode.objects.filter(space=s).remembered(), _discarded, "to the trash"
    ),
    "patterns": Tier(
        lambda s: Pattern.objects.filter(space=s).exclude(status="trashed"),
        _trashed,
        "to the trash",
    ),
    "working": Tier(
        lambda s: WorkingNote.objects.filter(space=s).exclude(**working.EMPTY),
        lambda now: working.EMPTY | {"updated_at": now},
        "emptied",
    ),
    "context": Tier(
        lambda s: Chat.objects.filter(space=s).exclude(context=""),
        lambda now: {"context": ""},
        "emptied",
    ),
    "core": Tier(
        lambda s: Identity.objects.filter(space=s).exclude(core=""),
        lambda now: {"core": "", "updated_at": now},
        "back to the shipped one",
    ),
    "rules": Tier(
        lambda s: Rule.objects.filter(space=s, status="active"),
        lambda now: {"status": "archived", "updated_at": now},
        "archived; the shipped ones hold",
    ),
    "preferences": Tier(
        lambda s: Preference.objects.filter(space=s, status="active"),
        lambda now: {"status": "archived", "updated_at": now},
        "archived",
    ),
    "rulings": Tier(
        lambda s: Ruling.objects.filter(space=s, status="active"),
        lambda now: {"status": "lifted"},
        "lifted",
    ),
    "messages": Tier(lambda s: Message.objects.filter(space=s), None, "deleted for good"),
}


GROUPS = {
    "memory": ["facts", "episodes", "patterns", "working", "context"],
    "identity": ["core", "rules", "preferences"],
    "all": list(TIERS),
}


def tiers(names: list[str]) -> list[str]:
    """Expand groups of tiers; each tier once."""
    return list(dict.fromkeys(tier for name in names for tier in GROUPS.get(name, [name])))


def preview(space: Space, names: list[str]) -> dict[str, int]:
    """Count the rows that each tier would lose."""
    return {name: TIERS[name].rows(space).count() for name in tiers(names)}


@transaction.atomic
def reset(space: Space, *, names: list[str], by: str, now: datetime | None = None) -> ChangeResult:
    """Empty these tiers of the space. The caller has asked first."""
    actors.require_person(by)
    now = now or timezone.now()
    counts = preview(space, names)
    audit.record("memory.reset", actor=by, space=space, obj=space, **counts)
    with history.change(by=by, why="reset") as context:
        for name in counts:
            rows, values = TIERS[name].rows(space), TIERS[name].values
            rows.update(**values(now)) if values else rows.delete()
    return ChangeResult(space, context.id, outcome="reset", count=sum(counts.values()))


@dataclass(frozen=True)
class Records:
    """One kind of record: all that the space has, and those past their days, the oldest first."""

    name: str
    everything: QuerySet
    old: QuerySet


def expired(space: Space, *, now: datetime) -> list[Records]:
    """Return the kinds that have records past their days, found in one query."""
    receipts = now - timedelta(days=space.options.receipt_days)
    logs = now - timedelta(days=space.options.log_days)
    given: dict[str, Any] = {"space": space.pk, "receipts": receipts, "logs": logs}
    has_old = next(iter(_have_old(**given)), ())
    return [kind for kind, has in zip(_kinds(**given), has_old, strict=False) if has]


@prepared(space="bigint", receipts="timestamptz", logs="timestamptz")
def _have_old(space, receipts, logs):
    kinds = _kinds(space, receipts, logs)
    rows = Space.objects.filter(pk=space).order_by()
    return rows.values_list(*[Exists(kind.old.order_by()) for kind in kinds])


def _kinds(space: Any, receipts: Any, logs: Any) -> list[Records]:
    kinds = (
        ("receipts", Recall, {"at__lt": receipts}, "at"),
        ("calls", LlmCall, {"at__lt": logs}, "at"),
        # What was not seen, sent or settled yet stays.
        ("notices", Notice, {"seen_at__lt": logs}, "created_at"),
        ("sent", OutboxItem, {"delivered_at__lt": logs}, "created_at"),
        ("letters", DeadLetter, {"retried_at__lt": logs}, "at"),
    )
    return [
        Records(name, model.objects.filter(space=space),
                model.objects.filter(space=space, **where).order_by(order, "pk"))
        for name, model, where, order in kinds
    ]  # fmt: skip


def delete(records: Records, *, most: int) -> int:
    """Delete the oldest records past their days; return how many."""
    ids = list(records.old.values_list("pk", flat=True)[:most])
    for start in range(0, len(ids), BATCH):
        some = ids[start : start + BATCH]
        if records.everything.model is Recall:
            RecallItem.objects.filter(recall__in=some)._raw_delete("default")
        records.everything.filter(pk__in=some).delete()
    return len(ids)
