"""Working memory: what Keno is in the middle of, one note per chat, always replaced whole."""

import json
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory import notices, rulings
from memory.guards.screening import ORDERS, screen
from memory.history import actors
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Space, WorkingNote
from memory.models.space import once

EMPTY = {"task": "", "context": [], "pending": [], "notes": ""}
LIST_LENGTH = 50


def write(chat: Chat, *, text: str, by: str, now: datetime | None = None) -> ChangeResult:
    """Replace the note by the text of a reply's tag. An empty tag changes nothing."""
    return replace(chat, by=by, now=now, **parse(text))


@transaction.atomic
def replace(
    chat: Chat,
    *,
    by: str,
    task: str = "",
    context: list[str] = (),
    pending: list[str] = (),
    notes: str = "",
    now: datetime | None = None,
) -> ChangeResult:
    parts = {"task": task, "context": list(context), "pending": list(pending), "notes": notes}
    reasons = screen("\n".join([task, *context, *pending, notes]), ignore=ORDERS).reasons
    if reasons and not actors.is_person(by):
        return notices.set_aside(
            chat.space,
            what=f"working note of {chat.key}",
            text=as_text(WorkingNote(**parts)),
            reasons=reasons,
        )
    values = _screen_parts(chat.space, **parts)
    if values == EMPTY:
        return ChangeResult(current(chat, now=now), outcome="empty")
    return _save(chat, values, by=by, why="working note", now=now)


@transaction.atomic
def clear(chat: Chat, *, by: str, now: datetime | None = None) -> ChangeResult:
    """Empty the note; the row and its history stay."""
    if not WorkingNote.objects.filter(chat=chat).exists():
        return ChangeResult(None, outcome="unchanged")
    return _save(chat, EMPTY, by=by, why="clear the working note", now=now)


def current(chat: Chat, *, now: datetime | None = None) -> WorkingNote | None:
    """Return the note, unless it is missing, empty or stale."""
    note = once(("note", chat.pk), lambda: WorkingNote.objects.filter(chat=chat).first())
    if note is None or is_empty(note) or is_stale(note, now=now):
        return None
    return note


def written(space: Space) -> QuerySet:
    return WorkingNote.objects.filter(space=space).exclude(**EMPTY)


def stale(space: Space, *, now: datetime | None = None) -> QuerySet:
    """Return the stale notes, which a night archives."""
    oldest = (now or timezone.now()) - timedelta(days=space.options.working_stale_days)
    return written(space).filter(updated_at__lt=oldest)


def is_stale(note: WorkingNote, *, now: datetime | None = None) -> bool:
    age = (now or timezone.now()) - note.updated_at
    return age > timedelta(days=note.space.options.working_stale_days)


def is_empty(note: WorkingNote) -> bool:
    return not (note.task.strip() or note.context or note.pending or note.notes.strip())


def as_text(note: WorkingNote) -> str:
    """Return the note as plain text, for prompts, pages and files."""
    parts = [f"Task: {note.task}"] if note.task else []
    for title, items in (("Context", note.context), ("Pending", note.pending)):
        if items:
            parts.append("\n".join([f"{title}:", *(f"- {item}" for item in items)]))
    return "\n".join([*parts, note.notes] if note.notes else parts)


def parse(text: str) -> dict:
    """Parse a note: JSON with its parts, or any other text as free notes."""
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        data = json.loads(bare)
    except (ValueError, RecursionError):
        return EMPTY | {"notes": text.strip()}
    if not isinstance(data, dict) or not data.keys() & {*EMPTY, "content"}:
        return EMPTY | {"notes": text.strip()}
    return {
        "task": _line(data.get("task")),
        "context": _lines(data.get("context")),
        "pending": _lines(data.get("pending")),
        "notes": _line(data.get("notes") or data.get("content")),
    }


def _line(value: object) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _lines(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [line for line in map(_line, values) if line.strip()]


def _screen_parts(space: Space, *, task, context, pending, notes) -> dict:
    """Redact secrets and drop what a ruling forbids."""
    forbidding = rulings.forbidding_rulings(space)

    def clean(value: str, line: bool = True) -> str:
        screened = screen(value, single_line=line).text
        return "" if rulings.forbidden(space, statement=screened, among=forbidding) else screened

    return {
        "task": clean(task),
        "context": list(filter(None, map(clean, context)))[:LIST_LENGTH],
        "pending": list(filter(None, map(clean, pending)))[:LIST_LENGTH],
        "notes": clean(notes, line=False),
    }


def _save(chat: Chat, values: dict, *, by: str, why: str, now: datetime | None) -> ChangeResult:
    defaults = {"space": chat.space, "updated_at": now or timezone.now(), **values}
    with history.change(by=by, why=why) as context:
        note, is_new = WorkingNote.objects.update_or_create(chat=chat, defaults=defaults)
    return ChangeResult(note, context.id, outcome="new" if is_new else "done")
