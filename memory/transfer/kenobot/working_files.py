"""Working memory files: free text, or one of the JSON shapes of the documents."""

from memory import text
from memory.transfer.items import Left, Place, WorkingItem
from memory.transfer.json_reading import Broken, a_text, a_time, loads, texts

_FIELDS = {"session", "task", "context", "pending", "notes", "updated", "updatedAt", "updated_at"}


def read(words: str, *, place: Place) -> WorkingItem | Left:
    """Keys that no shape knows are kept as lines of the notes: nothing is lost."""
    if not words.strip():
        return place.left("empty file")
    try:
        given = loads(words)
    except Broken:
        return _item(place, notes=words.strip())
    if not isinstance(given, dict):
        return _item(place, notes=words.strip())
    if "bootstrapState" in given:
        return place.left("bootstrap state", text=text.short(words, 80))
    when = a_time(given.get("updated") or given.get("updatedAt") or given.get("updated_at"))
    if isinstance(given.get("content"), str):
        return read_content(given["content"], place=place, when=when)
    more = [f"{key}: {given[key]}" for key in given if key not in _FIELDS and given[key]]
    notes = "\n".join([a_text(given.get("notes")), *more]).strip()
    made = {"context": texts(given.get("context")), "pending": texts(given.get("pending"))}
    return _item(place, when=when, task=a_text(given.get("task")).strip(), notes=notes, **made)


def read_content(words: str, *, place: Place, when) -> WorkingItem | Left:
    """{"content", "updatedAt"}: the text inside may be any of the shapes again."""
    found = read(words, place=place)
    if isinstance(found, WorkingItem) and when:
        return _item(
            place,
            when=when,
            task=found.task,
            context=found.context,
            pending=found.pending,
            notes=found.notes,
        )
    return found


def _item(place: Place, *, when=None, **values) -> WorkingItem | Left:
    if not any(values.values()):
        return place.left("empty file")
    return WorkingItem(path=place.path, chat=place.chat, at=when or place.modified, **values)
