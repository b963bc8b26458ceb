"""Import and export: what waits, what was done, and the report of one file."""

import tempfile
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

from django import forms
from django.conf import settings
from django.core.files import File
from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import rows_in
from kenoweb.ui.filters import Filter
from kenoweb.ui.formatting import number
from kenoweb.ui.list_page import Order, View, filter_url, part
from kenoweb.ui.responses import space_url
from memory import transfer
from memory.models import AuditEntry, Episode, Fact, Message, Parcel, ParcelLine, Space
from memory.transfer import staged_files
from memory.transfer.staged_files import PROGRESS_FROM_BYTES
from sleep.imports import Learning, state

IMPORTS = 20
# Of so many of the newest imports the list also says how far Keno is with their messages.
LEARNABLE = 5
LINES = 100
# A file of this size, or an export of this many rows, is done before anybody wonders.
SHORT_BYTES, SHORT_ROWS = PROGRESS_FROM_BYTES, 20_000
KINDS = {
    "fact": gettext_lazy("Facts"),
    "message": gettext_lazy("Messages"),
    "episode": gettext_lazy("Episodes"),
    "pattern": gettext_lazy("Patterns"),
    "working note": gettext_lazy("Working notes"),
    "entity": gettext_lazy("People and things"),
    "chat": gettext_lazy("Chats"),
    "identity": gettext_lazy("Identity"),
    "rule": gettext_lazy("Rules"),
    "preference": gettext_lazy("Preferences"),
    "ruling": gettext_lazy("Rulings"),
    "left": gettext_lazy("Other"),
}
VERDICTS = {
    "taken": gettext_lazy("Taken"),
    "quarantined": gettext_lazy("To quarantine"),
    "known": gettext_lazy("Known already"),
    "skipped": gettext_lazy("Skipped"),
}
ABOUT = {
    "keno": gettext_lazy(
        "All of memory and the settings, to keep or to move; importing it brings the same rows "
        "back. Receipts, nights, proposals and the audit are in a backup only."
    ),
    "kenobot": gettext_lazy("What Keno believes now, as a zip of KenoBot's own files."),
    "snapshot": gettext_lazy("One page for people; nothing reads it back."),
}


@dataclass(frozen=True)
class LineFilter(Filter):
    verdict: str = ""
    kind: str = ""

    CHOICES: ClassVar = {"verdict": {"": gettext_lazy("Everything")} | VERDICTS}


class FileForm(forms.Form):
    file = forms.FileField(label=gettext_lazy("File"), allow_empty_file=True)
    format = forms.ChoiceField(label=gettext_lazy("What it is"), required=False)
    guild = forms.CharField(required=False, max_length=80, strip=True)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["format"].choices = formats()

    @property
    def asked(self) -> dict:
        return {
            "asked": self.cleaned_data["format"] or transfer.AUTO,
            "guild": self.cleaned_data["guild"],
        }


class KindForm(FileForm):
    """The same question about a file that is here already."""

    file = None


@dataclass(frozen=True)
class Import:
    """One import of the past: what the audit knows of it, and whether it stands."""

    entry: AuditEntry
    label: str
    rows: int
    is_undone: bool
    learning: Learning | None = None


def formats() -> list[tuple[str, str]]:
    known = [(name, capfirst(str(one.label))) for name, one in transfer.FORMATS.items()]
    return [(transfer.AUTO, _("Detect automatically")), *known]


def exports() -> list[tuple[str, str, str]]:
    return [(name, one.label, ABOUT[name]) for name, one in transfer.EXPORTS.items()]


def index(space: Space) -> dict:
    waiting = rows_in(space, Parcel).order_by("-created_at", "-pk")
    return {
        "parcels": list(waiting[:IMPORTS]),
        "imports": imports(space),
        "exports": exports(),
        "formats": formats(),
        "most": settings.KENO_UPLOAD_MB,
        "bytes": settings.KENO_UPLOAD_MB * 1024 * 1024,
    }


def imports(space: Space) -> list[Import]:
    rows = list(rows_in(space, AuditEntry).filter(action="import").order_by("-at", "-pk")[:IMPORTS])
    undone = set(
        rows_in(space, AuditEntry)
        .filter(action="import.undone", details__change__in=[_change(row) for row in rows])
        .values_list("details__change", flat=True)
    )
    return [
        Import(
            row,
            _format(row.details.get("format", "")),
            _rows(row),
            _change(row) in undone,
            learning_of(space, row) if n < LEARNABLE and _change(row) not in undone else None,
        )
        for n, row in enumerate(rows)
    ]


def learning_of(space: Space, entry: AuditEntry | None) -> Learning | None:
    """How far Keno is with its messages; None for an import without any."""
    found = state(space, entry) if entry and entry.details.get("messages") else None
    return found if found and found.messages else None


def entry_of(space: Space, parcel: Parcel) -> AuditEntry | None:
    """The audit's line about the import that this file became."""
    if not parcel.change:
        return None
    return rows_in(space, AuditEntry).filter(action="import", details__change=parcel.change).first()


def parcel_of(space: Space, entry: AuditEntry) -> Parcel | None:
    """The file that became this import, while it is kept."""
    return rows_in(space, Parcel).filter(change=_change(entry)).exclude(change="").first()


def too_large() -> str:
    return _(
        "The file is larger than %(most)d MB. Import it on the machine itself with"
        " manage.py memory_import, or raise KENO_UPLOAD_MB."
    ) % {"most": settings.KENO_UPLOAD_MB}


def mistake(form: forms.Form) -> str:
    """What is wrong with what was sent, in one sentence."""
    if "file" in form.errors:
        return _("Choose a file first.")
    return " ".join(error for errors in form.errors.values() for error in errors)


def report(space: Space, parcel: Parcel, asked: QueryDict) -> dict:
    """One file with its lines, a part at a time."""
    url, wanted = space_url("transfer:detail", space, pk=parcel.pk), LineFilter.read(asked)
    found = part(_lines(parcel, wanted), order=_ORDER, after=wanted.after, size=LINES)
    entry = entry_of(space, parcel)
    is_applied = parcel.status == Parcel.Status.APPLIED
    return {
        "parcel": parcel,
        "learning": learning_of(space, entry) if is_applied else None,
        "format": _format(parcel.format),
        "form": KindForm(initial={"format": parcel.asked, "guild": parcel.guild}),
        "lines": [(row, VERDICTS.get(row.verdict, row.verdict)) for row in found.rows],
        "more": filter_url(url, wanted, after=found.after) if found.after else "",
        "filter": wanted,
        "views": _views(parcel, wanted, url),
        "table": _table(parcel),
        "kinds": [(kind, KINDS.get(kind, kind)) for kind in parcel.counts],
        "verdicts": VERDICTS,
        "new": staged_files.count_new_rows(parcel),
        "entry": entry,
        "url": url,
        "percent": min(100, parcel.done * 100 // parcel.total) if parcel.total else 0,
    }


def is_short(file: Parcel | File) -> bool:
    return file.size <= SHORT_BYTES


def is_short_export(space: Space) -> bool:
    tables = (Message, Fact, Episode)
    return sum(rows_in(space, table)[: SHORT_ROWS + 1].count() for table in tables) <= SHORT_ROWS


def written(space: Space, format: str, *, by: str, ip: str) -> BinaryIO:
    """A short export in a file that is gone when it is closed."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the answer closes it
    transfer.export(space, file, format, by=by, ip=ip)
    file.seek(0)
    return file


_ORDER = Order("number", int, down=False)


def _lines(parcel: Parcel, wanted: LineFilter):
    rows = ParcelLine.objects.filter(parcel=parcel)
    if wanted.verdict:
        rows = rows.filter(verdict=wanted.verdict)
    if wanted.kind:
        rows = rows.filter(kind=wanted.kind)
    if wanted.q:
        rows = rows.filter(text__icontains=wanted.q) | rows.filter(place__icontains=wanted.q)
    return rows


def _views(parcel: Parcel, wanted: LineFilter, url: str) -> list[View]:
    totals = dict.fromkeys(VERDICTS, 0)
    for verdicts in parcel.counts.values():
        for name, count in verdicts.items():
            totals[name] = totals.get(name, 0) + count
    shown = [("", _("Everything"), sum(totals.values()))]
    shown += [(name, str(label), totals[name]) for name, label in VERDICTS.items()]
    return [
        View(
            label,
            filter_url(url, wanted, verdict=name),
            number(n),
            name == wanted.verdict,
        )
        for name, label, n in shown
        if n or not name or name == wanted.verdict
    ]


def _table(parcel: Parcel) -> list[tuple[str, list[int]]]:
    """A row per kind, a column per verdict."""
    return [
        (str(KINDS.get(kind, kind)), [verdicts.get(name, 0) for name in VERDICTS])
        for kind, verdicts in parcel.counts.items()
    ]


def _format(name: str) -> str:
    known = transfer.FORMATS.get(name) or transfer.EXPORTS.get(name)
    return str(known.label) if known else ""


def _change(row: AuditEntry) -> str:
    return str(row.details.get("change", ""))


def _rows(row: AuditEntry) -> int:
    counts = row.details.get("counts", {})
    return sum(kind.get(name, 0) for kind in counts.values() for name in ("taken", "quarantined"))
