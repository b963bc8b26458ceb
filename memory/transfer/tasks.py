"""Transfer's jobs: what is too long to wait for, and what is swept away."""

from collections.abc import Callable, Iterable
from datetime import timedelta

from django.core.files import File
from django.db import transaction
from django.utils import timezone
from procrastinate.contrib.django import app

from memory import jobs
from memory.jobs import AFTER_OUTAGE
from memory.models import Parcel, Space
from memory.transfer import parcels

SAFETY_NET = timedelta(minutes=5)
WORK: dict[str, Callable[[Parcel, str], Parcel]] = {
    Parcel.Status.LOOKING: lambda parcel, by: parcels.look(parcel),
    Parcel.Status.APPLYING: lambda parcel, by: parcels.apply(parcel),
    Parcel.Status.UNDOING: lambda parcel, by: parcels.undo(parcel, by=by),
    Parcel.Status.PACKING: lambda parcel, by: parcels.pack(parcel),
}


def keep(space: Space, file: File, *, by: str, now: bool, **given: str) -> Parcel:
    """Take a file in and look at it: at once when that is short, else when a worker is free."""
    with transaction.atomic():
        parcel = parcels.keep(space, file.chunks(), name=file.name, by=by, **given)
        _enqueue(parcel, by=by, now=now)
    return _at_once(parcel, by=by) if now else parcel


def ask(space: Space, format: str, *, by: str) -> Parcel:
    """An export that is too long to wait for."""
    with transaction.atomic():
        parcel = parcels.ask(space, format, by=by)
        _enqueue(parcel, by=by, now=False)
    return parcel


def move(
    parcel: Parcel, *, status: str, after: Iterable[str], asker: str, now: bool, **values: str
) -> bool:
    """Begin the next step; False when it is not its turn, or somebody was faster."""
    with transaction.atomic():
        if not parcels.begin(parcel, status=status, after=after, **values):
            return False
        _enqueue(parcel, by=asker, now=now)
    if now:
        _at_once(parcel, by=asker)
    return True


def _enqueue(parcel: Parcel, *, by: str, now: bool) -> None:
    # What is done at once has a job all the same, for the case that we are killed on the way.
    at = timezone.now() + SAFETY_NET if now else None
    asked = {"parcel_id": parcel.pk, "space_id": parcel.space_id, "by": by}
    # One after the other: two imports into one space would wait for each other anyway.
    jobs.enqueue("transfer.work", lock=f"transfer-{parcel.space_id}", at=at, **asked)


def _at_once(parcel: Parcel, *, by: str) -> Parcel:
    work(parcel.pk, parcel.space_id, by=by)
    parcel.refresh_from_db()
    return parcel


@app.task(name="transfer.work", retry=AFTER_OUTAGE)
def work(parcel_id: int, space_id: int, by: str) -> None:
    """Its state says what is to be done, so doing it twice does nothing."""
    parcel = Parcel.objects.select_related("space").filter(pk=parcel_id).first()
    if parcel and parcel.status in WORK:
        WORK[parcel.status](parcel, by)


@app.periodic(cron="23 * * * *")
@app.task(name="transfer.sweep", queueing_lock="transfer.sweep", retry=AFTER_OUTAGE)
def sweep(timestamp: int) -> None:
    parcels.sweep(now=timezone.now())
