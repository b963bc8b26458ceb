"""Import and export: what waits, what was done, and the report of one file."""

import tempfile
from collections import Counter
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

from django import forms
from django.conf import settings
from django.core.files import File
from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

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
# For so many of the newest imports the list also shows the progress with their messages.
IMPORTS_WITH_PROGRESS = 5
LINES = 100
# Files of this size, and exports of this many rows, are done within the request.
SHORT_BYTES = PROGRESS_FROM_BYTES
SHORT_ROWS = 20_000
KINDS = {
    "fact": _("Facts"),
    "message": _("Messages"),
    "episode": _("Episodes"),
    "pattern": _("Patterns"),
    "working note": _("Working notes"),
    "entity": _("People and things"),
    "chat": _("Chats"),
    "identity": _("Identity"),
    "rule": _("Rules"),
    "preference": _("Preferences"),
    "ruling": _("Rulings"),
    "record": _("History, receipts, nights and proposals"),
    "left": _("Other"),
}
VERDICTS = {
    "taken": _("Taken"),
    "quarantined": _("To quarantine"),
    "known": _("Known already"),
    "skipped": _("Skipped"),
}
ABOUT = {
    "keno": _(
        "All of memory and its settings, history, receipts, nights and proposals, to keep or to "
        "move; importing it brings the same rows back."
    ),
    "kenobot": _("What Keno believes now, as a zip of KenoBot's own files."),
    "snapshot": _("One page for people; nothing reads it back."),
}


@dataclass(frozen=True)
class LineFilter(Filter):
    verdict: str = ""
    kind: str = ""

    CHOICES: ClassVar = {"verdict": {"": _("Everything")} | VERDICTS}


class FileForm(forms.Form):
    file = forms.FileField(label=_("File"), allow_empty_file=True)
    format = forms.ChoiceField(label=_("What it is"), required=False)
    guild = forms.CharField(required=False, max_length=80, strip=True)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["format"].choices = formats()

    @property
    def options(self) -> dict:
        data = self.cleaned_data
        return {"asked": data["format"] or transfer.AUTO, "guild": data["guild"]}


class KindForm(FileForm):
    """The same form for a file that is here already."""

    file = None


def formats() -> list[tuple[str, str]]:
    names = [(name, capfirst(str(reader.label))) for name, reader in transfer.FORMATS.items()]
    return [(transfer.AUTO, _("Detect automatically")), *names]


def index(space: Space) -> dict:
    return {
        "parcels": list(rows_in(space, Parcel).order_by("-created_at", "-pk")[:IMPORTS]),
        "imports": imports(space),
        "exports": [(name, e.label, ABOUT[name]) for name, e in transfer.EXPORTS.items()],
        "formats": formats(),
        "most": settings.KENO_UPLOAD_MB,
        "bytes": settings.KENO_UPLOAD_MB * 1024 * 1024,
    }


def imports(space: Space) -> list[dict]:
    """Return the past imports: what the audit knows of each, and whether it was undone."""
    entries = rows_in(space, AuditEntry)
    rows = list(entries.filter(action="import").order_by("-at", "-pk")[:IMPORTS])
    changes = [_change(row) for row in rows]
    undone = entries.filter(action="import.undone", details__change__in=changes)
    undone = set(undone.values_list("details__change", flat=True))
    past_imports = []
    for n, (row, change) in enumerate(zip(rows, changes, strict=True)):
        has_progress = n < IMPORTS_WITH_PROGRESS and change not in undone
        past_import = {
            "entry": row,
            "label": _format(row.details.get("format", "")),
            "rows": _count_rows(row),
            "is_undone": change in undone,
            "learning": learning_of(space, row) if has_progress else None,
        }
        past_imports.append(past_import)
    return past_imports


def learning_of(space: Space, entry: AuditEntry | None) -> Learning | None:
    """Return the progress with the messages of an import; None for an import without any."""
    learning = state(space, entry) if entry and entry.details.get("messages") else None
    return learning if learning and learning.messages else None


def entry_of(space: Space, parcel: Parcel) -> AuditEntry | None:
    """Return the audit's entry about the import of this file."""
    if not parcel.change:
        return None
    return rows_in(space, AuditEntry).filter(action="import", details__change=parcel.change).first()


def parcel_of(space: Space, entry: AuditEntry) -> Parcel | None:
    """Return the file of this import, while it is kept."""
    return rows_in(space, Parcel).filter(change=_change(entry)).exclude(change="").first()


def too_large() -> str:
    return _(
        "The file is larger than %(most)d MB. Import it on the machine itself with"
        " manage.py memory_import, or raise KENO_UPLOAD_MB."
    ) % {"most": settings.KENO_UPLOAD_MB}


def mistake(form: forms.Form) -> str:
    """Return the errors of the form in one line."""
    if "file" in form.errors:
        return _("Choose a file first.")
    return " ".join(error for errors in form.errors.values() for error in errors)


def report(space: Space, parcel: Parcel, params: QueryDict) -> dict:
    """Return everything that the page of one file shows, with one part of its lines."""
    url, filters = space_url("transfer:detail", space, pk=parcel.pk), LineFilter.read(params)
    order = Order("number", int, down=False)
    lines = part(_lines(parcel, filters), order=order, after=filters.after, size=LINES)
    entry = entry_of(space, parcel)
    is_applied = parcel.status == Parcel.Status.APPLIED
    return {
        "parcel": parcel,
        "learning": learning_of(space, entry) if is_applied else None,
        "format": _format(parcel.format),
        "form": KindForm(initial={"format": parcel.asked, "guild": parcel.guild}),
        "lines": [(row, VERDICTS.get(row.verdict, row.verdict)) for row in lines.rows],
        "more": filter_url(url, filters, after=lines.after) if lines.after else "",
        "filter": filters,
        "views": _views(parcel, filters, url),
        # A row per kind, a column per verdict.
        "table": [
            (KINDS.get(kind, kind), [verdicts.get(name, 0) for name in VERDICTS])
            for kind, verdicts in parcel.counts.items()
        ],
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
    """Write a short export to a file that is deleted when it is closed."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    transfer.export(space, file, format, by=by, ip=ip)
    file.seek(0)
    return file


def _lines(parcel: Parcel, filters: LineFilter):
    rows = ParcelLine.objects.filter(parcel=parcel)
    if filters.verdict:
        rows = rows.filter(verdict=filters.verdict)
    if filters.kind:
        rows = rows.filter(kind=filters.kind)
    if filters.q:
        rows = rows.filter(text__icontains=filters.q) | rows.filter(place__icontains=filters.q)
    return rows


def _views(parcel: Parcel, filters: LineFilter, url: str) -> list[View]:
    totals = Counter()
    for verdicts in parcel.counts.values():
        totals.update(verdicts)
    labels = {"": _("Everything")} | VERDICTS
    counts = {"": totals.total()} | {name: totals[name] for name in VERDICTS}
    return [
        View(
            str(labels[name]),
            filter_url(url, filters, verdict=name),
            number(count),
            name == filters.verdict,
        )
        for name, count in counts.items()
        if count or not name or name == filters.verdict
    ]


def _format(name: str) -> str:
    file_format = transfer.FORMATS.get(name) or transfer.EXPORTS.get(name)
    return str(file_format.label) if file_format else ""


def _change(row: AuditEntry) -> str:
    return str(row.details.get("change", ""))


def _count_rows(row: AuditEntry) -> int:
    counts = row.details.get("counts", {})
    return sum(kind.get(name, 0) for kind in counts.values() for name in ("taken", "quarantined"))
