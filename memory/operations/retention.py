"""Delete records that are kept for some days only: receipts, calls, notices, sent messages.

Memory itself and the audit are not among them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, QuerySet

from memory.models import DeadLetter, LlmCall, Notice, OutboxItem, Recall, RecallItem, Space

BATCH = 1000


@dataclass(frozen=True)
class Records:
    """One kind of record: all that the space has, and those past their days, the oldest first."""

    name: str
    everything: QuerySet
    old: QuerySet


def expired(space: Space, *, now: datetime) -> list[Records]:
    """Return the kinds that have records past their days, found in one query."""
    kinds = _kinds(space, now=now)
    query = Space.objects.filter(pk=space.pk)
    has_old = query.values_list(*[Exists(kind.old.order_by()) for kind in kinds]).first()
    return [kind for kind, has in zip(kinds, has_old or (), strict=False) if has]


def _kinds(space: Space, *, now: datetime) -> list[Records]:
    receipts = now - timedelta(days=space.options.receipt_days)
    logs = now - timedelta(days=space.options.log_days)
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
