"""Files that wait in the database between choosing, looking, importing and downloading."""

import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from memory import history, text
from memory.models import Parcel, ParcelLine, ParcelPiece, Space
from memory.transfer import exporting, importing, undoing
from memory.transfer.parcel_progress import shown
from memory.transfer.reports import Report, Verdict
from memory.transfer.safe import MB, Refused

KEPT = timedelta(days=1)
PIECE = MB
LINES = 2000
NAME = 100
Status = Parcel.Status
log = logging.getLogger(__name__)


@transaction.atomic
def keep(space: Space, chunks: Iterable[bytes], *, name: str, by: str, **given: str) -> Parcel:
    """Put a file into the database, to be looked at. Nothing of it is imported yet."""
    values = {"status": Status.LOOKING, "language": translation.get_language() or "en"}
    parcel = Parcel.objects.create(space=space, name=plain(name), by=by, **values | given)
    parcel.size = _store(parcel, chunks)
    parcel.save(update_fields=["size"])
    return parcel


@transaction.atomic
def ask(space: Space, format: str, *, by: str) -> Parcel:
    """An export that is too long to wait for: a job writes it, the page says how far it is."""
    name, language = exporting.file_name(space, format), translation.get_language() or "en"
    return Parcel.objects.create(
        space=space,
        way=Parcel.Way.OUT,
        status=Status.PACKING,
        name=name,
        asked=format,
        format=format,
        by=by,
        language=language,
    )


def begin(parcel: Parcel, *, status: str, after: Iterable[str], **values: object) -> bool:
    """Move it on; False when somebody else did so first."""
    now = timezone.now()
    values = {"status": status, "problem": "", "done": 0, "total": 0, "updated_at": now} | values
    won = Parcel.objects.filter(pk=parcel.pk, status__in=after).update(**values)
    _refresh(parcel)
    return bool(won)


def look(parcel: Parcel) -> Parcel:
    """What an import would do, line by line."""

    def work() -> None:
        with laid_out(parcel) as path, shown(parcel) as progress:
            report = importing.dry_run(parcel.space, path, **_how(parcel), progress=progress)
        _told(parcel, report, status=Status.READY, after=Status.LOOKING)

    return _carefully(parcel, work, _("Nothing was imported."))


def apply(parcel: Parcel) -> Parcel:
    """Import it as a whole, once: the file, its report and its state change in one transaction."""

    def work() -> None:
        with laid_out(parcel) as path, shown(parcel) as progress, transaction.atomic():
            report = importing.run(parcel.space, path, **_how(parcel), progress=progress)
            _told(parcel, report, status=Status.APPLIED, after=Status.APPLYING)

    return _carefully(parcel, work, _("Nothing was imported."))


def undo(parcel: Parcel, *, by: str) -> Parcel:
    """Take the import back; when something of it was changed since, nothing is."""
    with translation.override(parcel.language):
        try:
            with transaction.atomic():
                undoing.undo(parcel.space, parcel.change, by=by)
                begin(parcel, status=Status.UNDONE, after=[Status.UNDOING])
        except history.Conflict as conflict:
            begin(parcel, status=Status.APPLIED, after=[Status.UNDOING], problem=str(conflict))
    return parcel


def pack(parcel: Parcel) -> Parcel:
    """Write the space into the parcel."""

    def work() -> None:
        with tempfile.TemporaryFile() as file, shown(parcel) as progress:
            made = exporting.export(
                parcel.space, file, parcel.format, by=parcel.by, progress=progress
            )
            file.seek(0)
            with transaction.atomic():
                parcel.pieces.all().delete()
                size = _store(parcel, iter(lambda: file.read(PIECE), b""))
                counts = {kind: {"written": count} for kind, count in made.counts.items()}
                told = {"size": size, "counts": counts}
                begin(parcel, status=Status.PACKED, after=[Status.PACKING], **told)

    return _carefully(parcel, work, _("Nothing was written."))


def discard(parcel: Parcel) -> bool:
    """The file goes; what was imported from it stays. False while it is being imported."""
    writing = (Status.APPLYING, Status.UNDOING)
    return bool(Parcel.objects.filter(pk=parcel.pk).exclude(status__in=writing).delete()[0])


def sweep(*, now: datetime) -> int:
    """Files nobody came back for."""
    old = Parcel.objects.filter(updated_at__lt=now - KEPT)
    return old.delete()[1].get("memory.Parcel", 0)


def chunks(parcel: Parcel) -> Iterator[bytes]:
    """The file, piece by piece: never more than one in memory."""
    for number in range(parcel.pieces.count()):
        yield bytes(parcel.pieces.values_list("data", flat=True).get(number=number))


@contextmanager
def laid_out(parcel: Parcel) -> Iterator[Path]:
    """The file on disk, alone in a folder that only we can open, for as long as it is read."""
    with tempfile.TemporaryDirectory(prefix="keno-parcel-") as folder:
        path = Path(folder) / parcel.name
        with path.open("wb") as file:
            file.writelines(chunks(parcel))
        yield path


def plain(name: str) -> str:
    """A name that is safe on every disk: readers look at its ending, people at the rest."""
    last = text.one_line(text.clean(name)).replace("\\", "/").rsplit("/", 1)[-1].strip(". ")
    stem, dot, ending = last.rpartition(".")
    signs = "".join(sign for sign in (stem or ending) if sign.isalnum() or sign in "-_ .()+")
    short = signs.encode()[:NAME].decode(errors="ignore").strip() or "file"
    kept = "".join(sign for sign in ending if sign.isascii() and sign.isalnum())[:10]
    return f"{short}.{kept}" if dot and stem and kept else short


def _how(parcel: Parcel) -> dict:
    more = {"guild": parcel.guild} if parcel.guild else {}
    return {"format": parcel.asked, "by": parcel.by} | more


def _store(parcel: Parcel, chunks: Iterable[bytes]) -> int:
    size = 0
    for number, data in enumerate(_even(chunks)):
        ParcelPiece.objects.create(parcel=parcel, number=number, data=data)
        size += len(data)
    return size


def _even(chunks: Iterable[bytes]) -> Iterator[bytes]:
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= PIECE:
            yield bytes(buffer[:PIECE])
            del buffer[:PIECE]
    if buffer:
        yield bytes(buffer)


def _told(parcel: Parcel, report: Report, *, status: str, after: str) -> None:
    with transaction.atomic():
        told = {"format": report.format, "counts": report.counts, "change": report.change}
        if not begin(parcel, status=status, after=[after], **told):
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
        while batch := list(islice(rows, LINES)):
            ParcelLine.objects.bulk_create(batch)


def _carefully(parcel: Parcel, work: Callable[[], None], comfort: str) -> Parcel:
    """Whatever a stranger's file does, the person who sent it reads a sentence."""
    with translation.override(parcel.language):
        try:
            work()
        except Refused as refused:
            _refuse(parcel, str(refused))
        except Exception:
            log.exception("parcel %s", parcel.pk)
            said = _("Keno stumbled over this file; the log says where.")
            _refuse(parcel, f"{said} {comfort}")
    return parcel


def _refresh(parcel: Parcel) -> None:
    # Somebody may have discarded it while a job was at work.
    with suppress(Parcel.DoesNotExist):
        parcel.refresh_from_db()


def _refuse(parcel: Parcel, sentence: str) -> None:
    begin(parcel, status=Status.REFUSED, after=Parcel.BUSY, problem=sentence[:2000])


def new_in(parcel: Parcel) -> int:
    """How many rows it brings that the space does not have."""
    wanted = (Verdict.TAKEN, Verdict.QUARANTINED)
    return sum(kind.get(verdict, 0) for kind in parcel.counts.values() for verdict in wanted)
