"""Reading a night, and taking it back: one line of it, or all of it."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from memory import audit, history
from memory.models import Space
from sleep.models import Night, NightChange, Proposal


class NothingToUndo(Exception):
    """Everything this night applied has been taken back already."""

    def __str__(self):
        return self.__doc__


@transaction.atomic
def undo_change(change: NightChange, *, by: str, now: datetime | None = None) -> NightChange:
    """Take one line back; refused with what differs when it was changed since."""
    change = NightChange.objects.select_for_update().get(pk=change.pk)
    if change.undone_at is None:
        history.undo_context(change.context, by=by)
        change.undone_at, change.undone_by = now or timezone.now(), by
        change.save(update_fields=["undone_at", "undone_by"])
        audit.record("night.change undone", actor=by, space=change.night.space, thing=change)
    return change


@transaction.atomic
def redo_change(change: NightChange, *, by: str) -> NightChange:
    """Apply a line again that was taken back."""
    change = NightChange.objects.select_for_update().get(pk=change.pk)
    if change.undone_at is not None:
        history.redo_context(change.context, by=by)
        change.undone_at, change.undone_by = None, ""
        change.save(update_fields=["undone_at", "undone_by"])
    return change


@transaction.atomic
def undo(night: Night, *, by: str, now: datetime | None = None) -> int:
    """Take back all that the night applied on its own, and withdraw what it asks; or nothing.

    What people approved of it stays: each approval has its own undo.
    """
    now = now or timezone.now()
    standing = list(night.changes.select_for_update().filter(undone_at=None).order_by("-pk"))
    waiting = night.proposals.filter(status=Proposal.Status.PENDING)
    if not standing and not waiting.exists():
        raise NothingToUndo
    history.undo_contexts([change.context for change in standing], by=by)
    night.changes.filter(undone_at=None).update(undone_at=now, undone_by=by)
    withdrawn = waiting.update(status=Proposal.Status.EXPIRED, reason="the night was undone")
    night.undone_at = now
    night.save(update_fields=["undone_at"])
    audit.record("night.undone", actor=by, space=night.space, thing=night, withdrawn=withdrawn)
    return len(standing)


def latest(space: Space) -> Night | None:
    return Night.objects.filter(space=space).order_by("-local_date").first()
