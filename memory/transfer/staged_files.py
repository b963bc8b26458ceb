"""Uploaded files and exports, stored in the database until they are imported or downloaded."""

import hashlib
import hmac
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from memory.history import changes as history
from memory.models import Parcel, ParcelLine, ParcelPiece, Space
from memory.operations.progress import beside
from memory.text import normalise as text
from memory.transfer import importing
from memory.transfer.containers import MB, Refused
from memory.transfer.reports import Report, Verdict
from memory.transfer.session import Progress
from memory.trust import replay

KEEP_FOR = timedelta(days=1)
PIECE_BYTES = MB
LINES_PER_INSERT = 2000
MAX_NAME_BYTES = 100
Status = Parcel.Status
log = logging.getLogger(__name__)


@transaction.atomic
def store(space: Space, chunks: Iterable[bytes], *, name: str, by: str, **options: str) -> Parcel:
    """Store an uploaded file for preview. Nothing is imported yet."""
    values = {"status": Status.LOOKING, "language": translation.get_language() or "en"}
    parcel = Parcel.objects.create(space=space, name=safe_name(name), by=by, **values | options)
    parcel.size = _write_pieces(parcel, chunks)
    parcel.save(update_fields=["size"])
    return parcel


def change_status(parcel: Parcel, *, status: str, after: Iterable[str], **values: Any) -> bool:
    """Change the status if it is still one of `after`; return whether it was."""
    now = timezone.now()
    values = {"status": status, "problem": "", "done": 0, "total": 0, "updated_at": now} | values
    won = Parcel.objects.filter(pk=parcel.pk, status__in=after).update(**values)
    with suppress(Parcel.DoesNotExist):  # someone may have discarded it while the job ran
        parcel.refresh_from_db()
    return bool(won)


def preview(parcel: Parcel) -> Parcel:
    """Store a report of what importing this file would do, line by line."""
    with _refusing(parcel, _("Nothing was imported.")):
        with on_disk(parcel) as path, progress_writer(parcel) as progress:
            report = importing.dry_run(
                parcel.space, path, **_import_options(parcel), progress=progress
            )
        _save_report(parcel, report, status=Status.READY, after=Status.LOOKING)
    return parcel


def apply(parcel: Parcel) -> Parcel:
    """Import the file: its rows, report and status change in one transaction."""
    with (
        _refusing(parcel, _("Nothing was imported.")),
        on_disk(parcel) as path,
        progress_writer(parcel) as progress,
        transaction.atomic(),
    ):
        report = importing.run(parcel.space, path, **_import_options(parcel), progress=progress)
        _save_report(parcel, report, status=Status.APPLIED, after=Status.APPLYING)
    return parcel


def impact(parcel: Parcel, *, now: datetime) -> replay.Impact:
    """Return which past answers would change if the file were imported; nothing is kept."""
    if parcel.status not in (Status.READY, Status.UNDONE):
        raise Refused("status", _("It cannot be tried now: it is being read, or was imported."))
    if parcel.size > TRIED_BYTES:
        raise Refused("size", _("It is too large to be tried while you wait."))
    with on_disk(parcel) as path:
        options = _import_options(parcel)
        return replay.impact(
            parcel.space, lambda: importing.run(parcel.space, path, **options), now=now
        )


def undo(parcel: Parcel, *, by: str) -> Parcel:
    """Undo the import, or nothing of it when one of its rows was changed since."""
    with translation.override(parcel.language):
        try:
            with transaction.atomic():
                importing.undo(parcel.space, parcel.change, by=by)
                change_status(parcel, status=Status.UNDONE, after=[Status.UNDOING])
        except history.Conflict as conflict:
            change_status(
                parcel, status=Status.APPLIED, after=[Status.UNDOING], problem=str(conflict)
            )
    return parcel


def write_export(parcel: Parcel) -> Parcel:
    with (
        _refusing(parcel, _("Nothing was written.")),
        tempfile.TemporaryFile() as file,
        progress_writer(parcel) as progress,
    ):
        made = importing.export(parcel.space, file, parcel.format, by=parcel.by, progress=progress)
        file.seek(0)
        with transaction.atomic():
            parcel.pieces.all().delete()
            size = _write_pieces(parcel, iter(lambda: file.read(PIECE_BYTES), b""))
            counts = {kind: {"written": count} for kind, count in made.items()}
            values = {"size": size, "counts": counts}
            change_status(parcel, status=Status.PACKED, after=[Status.PACKING], **values)
    return parcel


def discard(parcel: Parcel) -> bool:
    """Delete the file but not what was imported from it; return False during an import or undo."""
    writing = (Status.APPLYING, Status.UNDOING)
    return bool(Parcel.objects.filter(pk=parcel.pk).exclude(status__in=writing).delete()[0])


def delete_expired(*, now: datetime) -> int:
    """Delete files that were not touched for a day; return how many."""
    old = Parcel.objects.filter(updated_at__lt=now - KEEP_FOR)
    return old.delete()[1].get("memory.Parcel", 0)


def chunks(parcel: Parcel) -> Iterator[bytes]:
    """Yield the file in pieces, with never more than one in memory."""
    for number in range(parcel.pieces.count()):
        data = bytes(parcel.pieces.values_list("data", flat=True).get(number=number))
        try:
            yield _cipher(parcel).decrypt(data[:12], data[12:], str(number).encode())
        except InvalidTag:
            sentence = _("This file was kept under another key: send it again.")
            raise Refused("key", sentence) from None


def _cipher(parcel: Parcel) -> AESGCM:
    """Return the cipher of this file, whose key derives from one outside the database."""
    about = f"keno.parcel.{parcel.pk}.{parcel.created_at.isoformat()}"
    return AESGCM(hmac.digest(settings.SECRET_KEY.encode(), about.encode(), hashlib.sha256))


@contextmanager
def on_disk(parcel: Parcel) -> Iterator[Path]:
    """Write the file into a private temporary folder and yield its path."""
    with tempfile.TemporaryDirectory(prefix="keno-parcel-") as folder:
        path = Path(folder) / safe_name(parcel.name)
        with path.open("wb") as file:
            file.writelines(chunks(parcel))
        yield path


def safe_name(name: str) -> str:
    """Return a file name that is safe on every file system and keeps its extension."""
    last = text.one_line(text.clean(name)).replace("\\", "/").rsplit("/", 1)[-1].strip(". ")
    stem, dot, ending = last.rpartition(".")
    allowed = "".join(char for char in (stem or ending) if char.isalnum() or char in "-_ .()+")
    short = allowed.encode()[:MAX_NAME_BYTES].decode(errors="ignore").strip() or "file"
    suffix = "".join(char for char in ending if char.isascii() and char.isalnum())[:10]
    return f"{short}.{suffix}" if dot and stem and suffix else short


def _import_options(parcel: Parcel) -> dict:
    more = {"guild": parcel.guild} if parcel.guild else {}
    return {"format": parcel.asked, "by": parcel.by} | more


def _write_pieces(parcel: Parcel, chunks: Iterable[bytes]) -> int:
    size = 0
    for number, data in enumerate(_even_pieces(chunks)):
        nonce = os.urandom(12)
        sealed = nonce + _cipher(parcel).encrypt(nonce, data, str(number).encode())
        ParcelPiece.objects.create(parcel=parcel, number=number, data=sealed)
        size += len(data)
    return size


def _even_pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= PIECE_BYTES:
            yield bytes(buffer[:PIECE_BYTES])
            del buffer[:PIECE_BYTES]
    if buffer:
        yield bytes(buffer)


def _save_report(parcel: Parcel, report: Report, *, status: str, after: str) -> None:
    with transaction.atomic():
        values = {"format": report.format, "counts": report.counts, "change": report.change}
        if not change_status(parcel, status=status, after=[after], **values):
            raise Refused("done", _("Somebody else was faster."))
        parcel.lines.all().delete()
        rows = (
            ParcelLine(
                parcel=parcel,
                number=number,
                place=text.clean(line.where),
                kind=line.kind[:40],
                verdict=line.verdict,
                text=line.text,
                why=text.clean(line.why),
                count=line.count,
            )
            for number, line in enumerate(report.lines)
        )
        while batch := list(islice(rows, LINES_PER_INSERT)):
            ParcelLine.objects.bulk_create(batch)


@contextmanager
def _refusing(parcel: Parcel, comfort: str) -> Iterator[None]:
    """Turn any failure of a step into a sentence for the person who sent the file."""
    with translation.override(parcel.language):
        try:
            yield
        except Refused as refused:
            _refuse(parcel, str(refused))
        except Exception:
            log.exception("parcel %s", parcel.pk)
            sentence = _("Keno could not read this file; the log says why.")
            _refuse(parcel, f"{sentence} {comfort}")


def _refuse(parcel: Parcel, sentence: str) -> None:
    change_status(parcel, status=Status.REFUSED, after=Parcel.BUSY, problem=sentence[:2000])


def count_new_rows(parcel: Parcel) -> int:
    """Count the rows of the report that the space does not have yet."""
    new = (Verdict.TAKEN, Verdict.QUARANTINED)
    return sum(kind.get(verdict, 0) for kind in parcel.counts.values() for verdict in new)


PROGRESS_SECONDS = 1.0
# Smaller imports finish before anyone could read their progress.
PROGRESS_FROM_BYTES = TRIED_BYTES = 300_000


@contextmanager
def progress_writer(parcel: Parcel) -> Iterator[Progress]:
    """Yield what shows the progress of a parcel that is large enough for that."""
    if parcel.way == Parcel.Way.IN and parcel.size <= PROGRESS_FROM_BYTES:
        yield lambda done, total, what: None
        return
    with beside(parcel, seconds=PROGRESS_SECONDS) as tell:
        yield tell
