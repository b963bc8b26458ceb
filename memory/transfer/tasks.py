"""Jobs of imports and exports, and the hourly deletion of old files."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from django.core.files import File
from django.db import transaction
from django.utils import timezone, translation
from procrastinate.contrib.django import app

from memory import jobs
from memory.jobs import AFTER_OUTAGE, periodic
from memory.models import Parcel, Space
from memory.transfer import importing, staged_files

RETRY_AFTER = timedelta(minutes=5)
STEPS: dict[str, Callable[[Parcel, str], Parcel]] = {
    Parcel.Status.LOOKING: lambda parcel, by: staged_files.preview(parcel),
    Parcel.Status.APPLYING: lambda parcel, by: staged_files.apply(parcel),
    Parcel.Status.UNDOING: lambda parcel, by: staged_files.undo(parcel, by=by),
    Parcel.Status.PACKING: lambda parcel, by: staged_files.write_export(parcel),
}


def upload(space: Space, file: File, *, by: str, now: bool, **values: str) -> Parcel:
    """Store an uploaded file and preview it: here when `now`, otherwise in a job."""
    with transaction.atomic():
        parcel = staged_files.store(space, file.chunks(), name=file.name, by=by, **values)
        _enqueue(parcel, by=by, now=now)
    return _run_now(parcel, by=by) if now else parcel


@transaction.atomic
def request_export(space: Space, format: str, *, by: str) -> Parcel:
    """Create the row of an export that a job will write while the page shows its progress."""
    parcel = Parcel.objects.create(
        space=space,
        way=Parcel.Way.OUT,
        status=Parcel.Status.PACKING,
        name=importing.file_name(space, format),
        asked=format,
        format=format,
        by=by,
        language=translation.get_language() or "en",
    )
    _enqueue(parcel, by=by, now=False)
    return parcel


def start_step(
    parcel: Parcel, *, status: str, after: Iterable[str], asker: str, now: bool, **values: str
) -> bool:
    """Start the next step; return False when the status does not allow it."""
    with transaction.atomic():
        if not staged_files.change_status(parcel, status=status, after=after, **values):
            return False
        _enqueue(parcel, by=asker, now=now)
    if now:
        _run_now(parcel, by=asker)
    return True


def _enqueue(parcel: Parcel, *, by: str, now: bool) -> None:
    # A step that runs here has a job too, in case this process is killed.
    at = timezone.now() + RETRY_AFTER if now else None
    asked: dict[str, Any] = {"parcel_id": parcel.pk, "space_id": parcel.space_id, "by": by}
    # One after the other: two imports into one space would wait for each other anyway. A job that
    # is only for the case of a crash has a lock of its own, else all others would wait for it.
    lock = f"transfer-again-{parcel.pk}" if now else f"transfer-{parcel.space_id}"
    jobs.enqueue("transfer.work", lock=lock, at=at, **asked)


def _run_now(parcel: Parcel, *, by: str) -> Parcel:
    work(parcel.pk, parcel.space_id, by=by)
    parcel.refresh_from_db()
    return parcel


@app.task(name="transfer.work", retry=AFTER_OUTAGE)
def work(parcel_id: int, space_id: int, by: str) -> None:
    """Run the step that the status asks for; a second run finds another status and does nothing."""
    parcel = Parcel.objects.select_related("space").filter(pk=parcel_id).first()
    if parcel and parcel.status in STEPS:
        STEPS[parcel.status](parcel, by)


@periodic("transfer.sweep", cron="23 * * * *")
def sweep(timestamp: int) -> None:
    staged_files.delete_expired(now=timezone.now())
