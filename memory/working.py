"""Working memory: what Keno is in the middle of, one note per chat, always replaced whole."""

import json
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory import actors, history, notices, rulings
from memory.history import Done
from memory.models import Chat, Space, WorkingNote
from memory.screen import ORDERS, screen

EMPTY = {"task": "", "context": [], "pending": [], "notes": ""}
LIST_LENGTH = 50


def write(chat: Chat, *, text: str, by: str, now: datetime | None = None) -> Done:
    """Replace the note by what a reply's tag says. An empty tag leaves it as it is."""
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
) -> Done:
    """Replace the note by these parts."""
    said = {"task": task, "context": list(context), "pending": list(pending), "notes": notes}
    reasons = screen("\n".join([task, *context, *pending, notes]), but=ORDERS).reasons
    if reasons and not actors.is_person(by):
        return notices.set_aside(
            chat.space,
            what=f"working note of {chat.key}",
            text=as_text(WorkingNote(**said)),
            reasons=reasons,
        )
    values = _screened(chat.space, **said)
    if values == EMPTY:
        return Done(current(chat, now=now), outcome="empty")
    return _save(chat, values, by=by, why="working note", now=now)


@transaction.atomic
def clear(chat: Chat, *, by: str, now: datetime | None = None) -> Done:
    """Empty the note; the row and its history stay."""
    if not WorkingNote.objects.filter(chat=chat).exists():
        return Done(None, outcome="unchanged")
    return _save(chat, EMPTY, by=by, why="clear the working note", now=now)


def current(chat: Chat, *, now: datetime | None = None) -> WorkingNote | None:
    """The note, unless it is missing, empty or stale."""
    note = WorkingNote.objects.filter(chat=chat).first()
    if note is None or is_empty(note) or is_stale(note, now=now):
        return None
    return note


def exists(chat: Chat, *, now: datetime | None = None) -> bool:
    return current(chat, now=now) is not None


def written(space: Space) -> QuerySet:
    """Notes that say something."""
    return WorkingNote.objects.filter(space=space).exclude(**EMPTY)


def stale(space: Space, *, now: datetime | None = None) -> QuerySet:
    """Notes a night puts away."""
    oldest = (now or timezone.now()) - timedelta(days=space.options.working_stale_days)
    return written(space).filter(updated_at__lt=oldest)


def is_stale(note: WorkingNote, *, now: datetime | None = None) -> bool:
    age = (now or timezone.now()) - note.updated_at
    return age > timedelta(days=note.space.options.working_stale_days)


def is_empty(note: WorkingNote) -> bool:
    return not (note.task.strip() or note.context or note.pending or note.notes.strip())


def as_text(note: WorkingNote) -> str:
    """The note as a prompt, a page or a file shows it."""
    parts = [f"Task: {note.task}"] if note.task else []
    for title, items in (("Context", note.context), ("Pending", note.pending)):
        if items:
            parts.append("\n".join([f"{title}:", *(f"- {item}" for item in items)]))
    return "\n".join([*parts, note.notes] if note.notes else parts)


def parse(text: str) -> dict:
    """The parts of a note: of the JSON the seeds describe, or all of it as free notes."""
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        found = json.loads(bare)
    except (ValueError, RecursionError):
        return EMPTY | {"notes": text.strip()}
    if not isinstance(found, dict) or not found.keys() & {*EMPTY, "content"}:
        return EMPTY | {"notes": text.strip()}
    return {
        "task": _line(found.get("task")),
        "context": _lines(found.get("context")),
        "pending": _lines(found.get("pending")),
        "notes": _line(found.get("notes") or found.get("content")),
    }


def _line(value: object) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _lines(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [line for line in map(_line, values) if line.strip()]


def _screened(space: Space, *, task, context, pending, notes) -> dict:
    """Secrets out, and nothing that is never to be remembered."""
    book = rulings.forbidding(space)

    def keep(value: str, line: bool = True) -> str:
        said = screen(value, line=line).text
        return "" if rulings.forbidden(space, said=said, among=book) else said

    return {
        "task": keep(task),
        "context": [kept for item in context if (kept := keep(item))][:LIST_LENGTH],
        "pending": [kept for item in pending if (kept := keep(item))][:LIST_LENGTH],
        "notes": keep(notes, line=False),
    }


def _save(chat: Chat, values: dict, *, by: str, why: str, now: datetime | None) -> Done:
    defaults = {"space": chat.space, "updated_at": now or timezone.now(), **values}
    with history.change(by=by, why=why) as context:
        note, is_new = WorkingNote.objects.update_or_create(chat=chat, defaults=defaults)
    return Done(note, context.id, outcome="new" if is_new else "done")
