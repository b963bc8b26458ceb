"""Import files: a dry run first, then exactly the same for real. Undo an import; export a space."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from django.apps import apps
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory import jobs
from memory.guards.screening import redacted
from memory.history import audit
from memory.history import changes as history
from memory.models import AuditEntry, Chat, Fact, Message, Space
from memory.operations.erasing import rows_within
from memory.options import READ_ONLY, gate
from memory.transfer import containers, session, writers
from memory.transfer.archive import files as archive
from memory.transfer.archive.restore import Restore
from memory.transfer.archive.rows import is_valid
from memory.transfer.containers import Refused
from memory.transfer.items import Found, Left
from memory.transfer.kenobot import writer as kenobot
from memory.transfer.readers import formats
from memory.transfer.reports import Report, Verdict
from memory.transfer.session import Progress, Session, quiet, ranges
from memory.transfer.writers import Outcome
from memory.trust import canaries

AUTO = "auto"
BATCH = 200
LOCK = "SELECT pg_advisory_xact_lock(hashtext('keno.import'), %s)"
_AT_ONCE = {"fact": writers.write_facts, "message": writers.write_messages}
_ONE_BY_ONE = {
    "episode": writers.episode,
    "pattern": writers.pattern,
    "working note": writers.working_note,
    "chat": writers.chat,
    "identity": writers.core,
    "rule": writers.rule,
    "preference": writers.preference,
}


def detect(path: str | Path) -> str:
    """Return the format: keno, kenobot, clanker, chatgpt, claude or mem0."""
    with containers.opened(path) as tree:
        return formats.detect(tree, Path(path))


def dry_run(
    space: Space, path: str | Path, format: str = AUTO, *, by: str = "import", **options: Any
) -> Report:
    """Report what an import would do by running it and rolling it back."""
    return run(space, path, format, by=by, dry=True, **options)


def run(
    space: Space,
    path: str | Path,
    format: str = AUTO,
    *,
    by: str,
    progress: Progress = quiet,
    dry: bool = False,
    **options: str,
) -> Report:
    """Import all or nothing; one undo reverts the whole import."""
    path = Path(path)
    with containers.opened(path) as tree:
        _check_format(format, [AUTO, *formats.FORMATS])
        name = formats.detect(tree, path) if format == AUTO else format
        is_archive = name == formats.ARCHIVE and archive.is_archive(tree)
        if is_archive and is_valid(archive.manifest(tree, sizes=False)):
            # One of our own may be as large as the space it came from.
            tree.limits = containers.Limits(total=archive.OWN_TOTAL)
        containers.check_sizes(tree, *formats.FORMATS[name].opens(tree))
        if name != formats.ARCHIVE and not dry and gate(space.options, "imports") == READ_ONLY:
            closed = _("Imports are read only here: an owner changes that in the memory settings.")
            raise Refused("gate", closed)
        report = Report(format=name, source=redacted(path.name), space=space.slug, dry=dry)
        session = Session(space, by, report, progress)
        with transaction.atomic():
            with connection.cursor() as cursor:  # else two imports of one file both find it new
                cursor.execute(LOCK, [space.pk])
            with history.change(by=by, why=f"import {name}", source=report.source) as context:
                _write(session, tree, path, options)
            if dry:
                transaction.set_rollback(True)
            else:
                report.change = str(context.id)
                audit.record("import", actor=by, space=space, **_details(session))
                jobs.ask_golden(space.pk, "import")
        return report


def _check_format(format: str, names: Iterable[str]) -> None:
    if format not in names:
        sentence = _("There is no format “%(name)s”. It is one of %(known)s.")
        raise Refused("format", sentence % {"name": format, "known": ", ".join(names)})


def _write(session: Session, tree: containers.Tree, path: Path, options: dict) -> None:
    if session.report.format == formats.ARCHIVE:
        Restore(session, tree).run()
        return
    format = formats.FORMATS[session.report.format]
    # Reading is cheap beside writing: a first pass counts, so that progress has an end.
    total = sum(1 for _item in format.read(tree, path, **options))
    write(session, format.read(tree, path, **options), total=total)


def write(session: Session, items: Iterator[Found], *, total: int = 0) -> None:
    """Write every item through the service that owns it and report the outcome."""
    done = 0
    for batch in _batches(items):
        outcomes = iter(_write_batch(session, [row for row in batch if not isinstance(row, Left)]))
        for item in batch:
            if isinstance(item, Left):
                verdict, how = Verdict.SKIPPED, {"reason": item.reason, "count": item.count}
            else:
                verdict, reason, why = next(outcomes)
                how = {"reason": reason, "why": why}
            session.report.add(item.where, item.kind, verdict, text=item.text, **how)
        done += len(batch)
        session.progress(done, total, batch[-1].path)


def _batches(items: Iterator[Found]) -> Iterator[list[Found]]:
    """Yield batches of one kind and the skipped parts between them, in order."""
    batch: list[Found] = []
    kind = ""
    for each in items:
        is_other = not isinstance(each, Left) and kind not in ("", each.kind)
        if batch and (is_other or len(batch) >= BATCH):
            yield batch
            batch, kind = [], ""
        batch.append(each)
        kind = kind if isinstance(each, Left) else each.kind
    if batch:
        yield batch


def _write_batch(session: Session, items: list[Found]) -> list[Outcome]:
    if items and items[0].kind in _AT_ONCE:
        return _AT_ONCE[items[0].kind](session, items)
    return [_ONE_BY_ONE[item.kind](session, item) for item in items]


def _details(session: Session) -> dict[str, Any]:
    names = ("format", "source", "counts", "change")
    return {name: getattr(session.report, name) for name in names} | {
        "messages": ranges(session.made_messages),
        "chats": ranges(session.made_chats),
        "records": {label: ranges(pks) for label, pks in session.made_records.items()},
    }


class UnknownImport(Exception):
    """There is no such import in this space."""

    def __str__(self):
        return _("There is no such import in this space.")


def imports(space: Space) -> list[AuditEntry]:
    """Return the imports of a space, newest first, with format, source, counts and change."""
    return list(AuditEntry.objects.filter(space=space, action="import").order_by("-at", "-pk"))


@transaction.atomic
def undo(space: Space, change: UUID | str, *, by: str) -> AuditEntry:
    """Move its memories to the trash; remove the messages and chats that only this import made.

    Raise history.Conflict, and undo nothing, when something it brought was changed since.
    """
    entry = next((e for e in imports(space) if e.details.get("change") == str(change)), None)
    if entry is None:
        raise UnknownImport
    with history.change(by=by, why="undo", undoes_context=str(change)):
        history.undo_context(change, by=by)
        messages, chats = _remove(space, entry.details)
    jobs.ask_golden(space.pk, "import")
    details = {"change": str(change), "messages": messages, "chats": chats}
    return audit.record("import.undone", actor=by, space=space, **details)


def _remove(space: Space, details: dict) -> tuple[int, int]:
    for label, spans in details.get("records", {}).items():
        rows_within(apps.get_model(label), space, spans).delete()
    # What was learned from a message since then keeps its source.
    used = Fact.objects.filter(space=space).exclude(status=Fact.Status.TRASHED)
    sources = used.exclude(message=None).values("message_id")
    messages = rows_within(Message, space, details.get("messages", [])).exclude(pk__in=sources)
    removed = messages.delete()[1].get("memory.Message", 0)
    lonely = {"messages": None, "facts": None, "episodes": None, "patterns": None}
    chats = rows_within(Chat, space, details.get("chats", [])).filter(working_note=None, **lonely)
    return removed, chats.delete()[1].get("memory.Chat", 0)


@dataclass(frozen=True)
class Export:
    """An export format. `write(space, file, progress=)` returns row counts by kind."""

    label: str
    ending: str
    content_type: str
    write: Callable[..., dict]


EXPORTS = {
    "keno": Export(gettext_lazy("Archive of Keno"), ".keno.zip", "application/zip", archive.write),
    "kenobot": Export(
        gettext_lazy("KenoBot folder"), ".kenobot.zip", "application/zip", kenobot.write
    ),
    "snapshot": Export(
        gettext_lazy("A page to read"), ".MEMORY.md", "text/markdown", session.write
    ),
}


def export(
    space: Space,
    file: BinaryIO,
    format: str = "keno",
    *,
    by: str,
    progress: Progress = quiet,
    ip: str | None = None,
) -> dict[str, int]:
    """Write the space into the file and record that in the audit log; return counts by kind."""
    _check_format(format, EXPORTS)
    with archive.steady():
        counts = EXPORTS[format].write(space, file, progress=progress)
    for text in canaries.planted(space).values_list("text", flat=True)[:1]:
        canaries.watch(space, text, place="export")
    audit.record("export", actor=by, space=space, ip=ip, format=format, counts=counts)
    return counts


def file_name(space: Space, format: str = "keno") -> str:
    return f"{space.slug}-{timezone.now():%Y-%m-%d}{EXPORTS[format].ending}"
