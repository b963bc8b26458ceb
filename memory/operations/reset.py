"""Reset a space's memory, tier by tier, as one undoable change; delete what is past its days."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, Q, QuerySet
from django.utils import timezone

from memory import models, working
from memory.history import actors, audit
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Space
from memory.models.prepared import prepared

BATCH = 1000


@dataclass(frozen=True)
class Tier:
    """What a reset does to one kind of memory. Without values the rows are deleted for good."""

    model: Any
    where: Q
    effect: str
    values: dict[str, Any] = field(default_factory=dict)
    # Columns that say when.
    dates: tuple[str, ...] = ("updated_at",)

    def rows(self, space: Space) -> QuerySet:
        return self.model.objects.filter(self.where, space=space)


_ACTIVE, _NOT_TRASHED, _TRASHED = Q(status="active"), ~Q(status="trashed"), {"status": "trashed"}
_TO_TRASH, _TRASH_DATES = "to the trash", ("trashed_at", "updated_at")
_NOT_DISCARDED, _DISCARD_DATES = ~Q(status="discarded"), ("discarded_at", "updated_at")
_DISCARDED = {"status": "discarded", "discard_reason": "reset"}
_ARCHIVED = {"status": "archived"}
TIERS = {
    "facts": Tier(models.Fact, _NOT_TRASHED, _TO_TRASH, _TRASHED, _TRASH_DATES),
    "episodes": Tier(models.Episode, _NOT_DISCARDED, _TO_TRASH, _DISCARDED, _DISCARD_DATES),
    "patterns": Tier(models.Pattern, _NOT_TRASHED, _TO_TRASH, _TRASHED, _TRASH_DATES),
    "working": Tier(models.WorkingNote, ~Q(**working.EMPTY), "emptied", working.EMPTY),
    "context": Tier(models.Chat, ~Q(context=""), "emptied", {"context": ""}, ()),
    "core": Tier(models.Identity, ~Q(core=""), "back to the shipped one", {"core": ""}),
    "rules": Tier(models.Rule, _ACTIVE, "archived; the shipped ones hold", _ARCHIVED),
    "preferences": Tier(models.Preference, _ACTIVE, "archived", _ARCHIVED),
    "rulings": Tier(models.Ruling, _ACTIVE, "lifted", {"status": "lifted"}, ()),
    "messages": Tier(models.Message, Q(), "deleted for good"),
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
            rows, tier = TIERS[name].rows(space), TIERS[name]
            dates = dict.fromkeys(tier.dates, now)
            rows.update(**tier.values, **dates) if tier.values else rows.delete()
    return ChangeResult(space, context.id, outcome="reset", count=sum(counts.values()))


@dataclass(frozen=True)
class Records:
    """One kind of record: all of the space, and those past their days, the oldest first."""

    name: str
    everything: QuerySet
    old: QuerySet


def expired(space: Space, *, now: datetime) -> list[Records]:
    """Return the kinds that have records past their days, found in one query."""
    receipts = now - timedelta(days=space.options.receipt_days)
    logs = now - timedelta(days=space.options.log_days)
    values: dict[str, Any] = {"space": space.pk, "receipts": receipts, "logs": logs}
    has_old = next(iter(_have_old(**values)), ())
    return [kind for kind, has in zip(_kinds(**values), has_old, strict=False) if has]


@prepared(space="bigint", receipts="timestamptz", logs="timestamptz")
def _have_old(space, receipts, logs):
    kinds = _kinds(space, receipts, logs)
    rows = Space.objects.filter(pk=space).order_by()
    return rows.values_list(*[Exists(kind.old.order_by()) for kind in kinds])


def _kinds(space: Any, receipts: Any, logs: Any) -> list[Records]:
    kinds = (
        ("receipts", models.Recall, {"at__lt": receipts}, "at"),
        ("calls", models.LlmCall, {"at__lt": logs}, "at"),
        # What was not seen, sent or settled yet stays.
        ("notices", models.Notice, {"seen_at__lt": logs}, "created_at"),
        ("sent", models.OutboxItem, {"delivered_at__lt": logs}, "created_at"),
        ("letters", models.DeadLetter, {"retried_at__lt": logs}, "at"),
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
        if records.everything.model is models.Recall:
            models.RecallItem.objects.filter(recall__in=some)._raw_delete("default")
        records.everything.filter(pk__in=some).delete()
    return len(ids)
