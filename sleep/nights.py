"""Read nights, undo them by the line or as a whole, and check whether they are slept."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import CharField, Exists, F, OuterRef, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.history import audit
from memory.history import changes as history
from memory.history.actors import Refusal
from memory.history.changes import events_of
from memory.models import AuditEntry, Episode, Space
from memory.models.prepared import prepared
from memory.operations.health import ERROR, WARNING, Finding
from sleep.models import Claim, Night, NightChange, Proposal

# The kinds of lines by which a night believes something.
BELIEVED_KINDS = ("agreement", "curated")
STOPPED = "night.stopped"
# How long nights leave alone what a person took back.
SPARE_FOR = timedelta(days=30)
# A day, the hour in which the next night is looked for, and one more.
OVERDUE_AFTER = timedelta(hours=26)


class Undone(NamedTuple):
    """How many lines of a night were taken back, and which were changed since and stay."""

    count: int
    kept: list[NightChange]


class NothingToUndo(Refusal):
    """Everything this night applied was undone already, or was changed since."""


@transaction.atomic
def undo_change(change: NightChange, *, by: str, now: datetime | None = None) -> NightChange:
    """Take one line back; refused with what differs when it was changed since."""
    change = NightChange.objects.select_for_update().get(pk=change.pk)
    if change.undone_at is None:
        history.undo_context(change.context, by=by)
        change.undone_at, change.undone_by = now or timezone.now(), by
        change.save(update_fields=["undone_at", "undone_by"])
        audit.record("night.change undone", actor=by, space=change.night.space, obj=change)
    return change


@transaction.atomic
def redo_change(change: NightChange, *, by: str) -> NightChange:
    change = NightChange.objects.select_for_update().get(pk=change.pk)
    if change.undone_at is not None:
        history.redo_context(change.context, by=by)
        change.undone_at, change.undone_by = None, ""
        change.save(update_fields=["undone_at", "undone_by"])
    return change


def stop(night: Night, *, by: str) -> bool:
    """Ask the running night to end after the phase it is in, by an entry in the audit."""
    if night.status != Night.Status.RUNNING or is_stopped(night):
        return False
    audit.record(STOPPED, actor=by, space=night.space, obj=night, run=night.run)
    return True


def is_stopped(night: Night) -> bool:
    entries = _stop_entries(space=night.space_id, night=str(night.pk))
    return any(details.get("run") == night.run for (details,) in entries)


@prepared(space="bigint", night="varchar")
def _stop_entries(space, night):
    entries = AuditEntry.objects.filter(space=space, action=STOPPED, object_id=night)
    return entries.order_by().values_list("details")


@transaction.atomic
def undo(night: Night, *, by: str, now: datetime | None = None, later_too: bool = False) -> Undone:
    """Take back what the night applied, withdraw what it asks and forget that it read its episodes.

    What was changed since stays, and is returned, unless `later_too`. What people decided stays:
    each decision has its own undo.
    """
    now = now or timezone.now()
    standing = list(night.changes.select_for_update().filter(undone_at=None).order_by("-pk"))
    kept = _take_back(standing, by=by, later_too=later_too)
    gone = [change.pk for change in standing if change not in kept]
    night.changes.filter(pk__in=gone).update(undone_at=now, undone_by=by)
    withdrawn, unread = _withdraw(night), _unread(night, by=by)
    if not (gone or withdrawn or unread):
        raise NothingToUndo
    night.undone_at = now
    night.save(update_fields=["undone_at"])
    counts = {"withdrawn": withdrawn, "unread": unread}
    audit.record("night.undone", actor=by, space=night.space, obj=night, **counts)
    return Undone(len(gone), kept)


def _take_back(standing: list[NightChange], *, by: str, later_too: bool) -> list[NightChange]:
    """Undo the lines together, else one by one; return those that were changed since."""
    try:
        ids = [change.context for change in standing]
        history.undo_contexts(ids, by=by, later_too=later_too)
        return []
    except (history.Conflict, ObjectDoesNotExist):
        return [row for row in standing if not _was_taken_back(row, by=by, later_too=later_too)]


def _was_taken_back(change: NightChange, *, by: str, later_too: bool) -> bool:
    try:
        history.undo_context(change.context, by=by, later_too=later_too)
    except (history.Conflict, ObjectDoesNotExist):  # changed since, or erased
        return False
    return True


def exclude_taken_back(rows: QuerySet, kind: str, *, space: Space, now: datetime) -> QuerySet:
    """Leave out what such a line of a night changed and a person, not a whole undo, took back."""
    lines = NightChange.objects.filter(space=space, kind=kind, undone_at__gt=now - SPARE_FOR)
    lines = lines.exclude(undone_at=F("night__undone_at"))
    contexts = list(lines.values_list("context", flat=True))
    events = events_of(rows.model).filter(pgh_context_id__in=contexts)
    return rows.exclude(pk__in=events.values("pgh_obj_id")) if contexts else rows


def undone_texts(space: Space, texts: Collection[str]) -> set[str]:
    """Return which of these a night believed on its own and a person took back."""
    lines = NightChange.objects.filter(space=space, kind__in=BELIEVED_KINDS, text__in=texts)
    return set(lines.exclude(undone_at=None).values_list("text", flat=True))


def _withdraw(night: Night) -> int:
    """Expire what nobody decided and free its keys, so that a later night may ask again."""
    return night.proposals.filter(status=Proposal.Status.PENDING).update(
        status=Proposal.Status.EXPIRED,
        reason=_("The night was undone."),
        key=Concat(Value("withdrawn-"), Cast("pk", CharField())),
    )


def _unread(night: Night, *, by: str) -> int:
    """Let the next night read the episodes again, as for the first time; return how many."""
    plans = night.phases.filter(phase="consolidation").values_list("plan", flat=True)
    items = [item for plan in plans for item in plan]
    ids = [pk for item in items for pk in item.get("read", [])]
    times = {datetime.fromisoformat(item["at"]) for item in items if "at" in item}
    times.add(night.started_at)
    Claim.objects.filter(space=night.space, episode__in=ids).delete()
    Claim.objects.filter(space=night.space, settled_at__in=times).update(settled_at=None)
    read = Episode.objects.filter(space=night.space, pk__in=ids, consolidated_at__in=times)
    with history.change(by=by, why="undo", night=night.pk):
        return read.update(consolidated_at=None)


def latest(space: Space) -> Night | None:
    return Night.objects.filter(space=space).order_by("-local_date").first()


def last_slept(space: Space, moment: str = "started_at") -> datetime | None:
    """Return when the last completed night began, or another `moment` of it."""
    slept = Night.objects.filter(space=space, status=Night.Status.SUCCESS)
    return slept.order_by(f"-{moment}").values_list(moment, flat=True).first()


def health(space: Space, now: datetime) -> Finding:
    """Report a failed night as an error; one that is late, or never came, as a warning."""
    last = latest(space)
    if last and last.status == Night.Status.FAILED:
        text = _("The last night failed: %(error)s") % {"error": last.error[:200]}
        return Finding("night", ERROR, text)
    age = now - (last.started_at if last else space.created_at)
    if age <= OVERDUE_AFTER:
        return Finding("night")
    if not last:
        return Finding("night", WARNING, _("No night was slept yet."))
    if age.days < 2:
        text = _("The last night was %(n)s hours ago.") % {"n": int(age.total_seconds() // 3600)}
    else:
        text = _("The last night was %(n)s days ago.") % {"n": age.days}
    return Finding("night", WARNING, text)


def overdue(*, now: datetime) -> int:
    slept = Night.objects.filter(space=OuterRef("pk"), started_at__gt=now - OVERDUE_AFTER)
    old = Space.objects.filter(created_at__lte=now - OVERDUE_AFTER)
    return old.exclude(Exists(slept)).count()
