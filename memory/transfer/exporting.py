"""Export a whole space into one file, for Keno, for KenoBot or for people."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.history import audit
from memory.models import Space
from memory.transfer import snapshot
from memory.transfer.archive import writer as archive
from memory.transfer.containers.safe import Refused
from memory.transfer.kenobot import writer as kenobot
from memory.transfer.session import Progress


@dataclass(frozen=True)
class Export:
    """An export format. `write(space, file, progress=)` returns row counts by kind."""

    label: str
    ending: str
    content_type: str
    write: Callable[..., dict]


@dataclass(frozen=True)
class Exported:
    format: str
    counts: dict[str, int]


def _archive(space: Space, file: BinaryIO, *, progress: Progress) -> dict:
    return archive.write(space, file, progress=progress)["counts"]


EXPORTS = {
    "keno": Export(gettext_lazy("Archive of Keno"), ".keno.zip", "application/zip", _archive),
    "kenobot": Export(
        gettext_lazy("KenoBot folder"), ".kenobot.zip", "application/zip", kenobot.write
    ),
    "snapshot": Export(
        gettext_lazy("Snapshot to read"), ".MEMORY.md", "text/markdown", snapshot.write
    ),
}


def export(
    space: Space,
    file: BinaryIO,
    format: str = "keno",
    *,
    by: str,
    progress: Progress = lambda done, total, what: None,
    ip: str | None = None,
) -> Exported:
    """Write the space into the file and record that in the audit log."""
    if format not in EXPORTS:
        sentence = _("There is no format “%(name)s”. It is one of %(known)s.")
        raise Refused("format", sentence % {"name": format, "known": ", ".join(EXPORTS)})
    with archive.steady():
        counts = EXPORTS[format].write(space, file, progress=progress)
    audit.record("export", actor=by, space=space, ip=ip, format=format, counts=counts)
    return Exported(format, counts)


def file_name(space: Space, format: str = "keno") -> str:
    return f"{space.slug}-{timezone.now():%Y-%m-%d}{EXPORTS[format].ending}"
