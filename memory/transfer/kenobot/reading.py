"""A whole KenoBot tree, file by file; every file and line ends up taken or explained."""

import re
from collections.abc import Iterator

from memory import text
from memory.transfer import safe
from memory.transfer.items import (
    ChatItem,
    CoreItem,
    EpisodeItem,
    Found,
    Place,
    WorkingItem,
)
from memory.transfer.kenobot import (
    daily_log,
    layout,
    memory_md,
    patterns_json,
    preferences_md,
    rules_json,
    sessions_jsonl,
    working_files,
)

KEY = re.compile(r"[A-Za-z0-9_-]{1,161}")
# Messages last: facts and episodes are what a person wants to see first in a report.
_ORDER = ["core", "rules", "preferences", "context", "facts", "concepts", "procedures", "errors"]
_ORDER += ["summary", "daily", "patterns", "working", "session"]
_KINDS = {"concepts": "concept", "procedures": "procedure", "errors": "lesson"}


def opens(names: list[str]) -> tuple[list[str], list[str]]:
    """The names that are read whole, and those that are read line by line."""
    files = layout.files(names)
    streamed = [file.name for file in files if file.what == "session"]
    return [name for name in names if name not in set(streamed)], streamed


def read(tree: safe.Tree) -> Iterator[Found]:
    files = layout.files(tree.entries)
    working: dict[str, list] = {}
    for file in sorted(files, key=lambda file: (_rank(file.what), file.name)):
        place = Place(file.name, file.chat, tree.entries[file.name].modified)
        if file.what.startswith("not:") or file.what == "unknown":
            yield place.left(file.what.removeprefix("not:"))
        elif file.chat and not KEY.fullmatch(file.chat):
            yield place.left("chat key", text=file.chat)
        elif file.what == "working":
            note = working_files.read(_words(tree, file.name), place=place)
            working.setdefault(file.chat, []).append(note)
        else:
            yield from _read(tree, file, place)
    for notes in working.values():
        yield from _newest(notes)


def _read(tree: safe.Tree, file: layout.File, place: Place) -> Iterator[Found]:
    if file.what == "session":
        with safe.stream(tree, file.name) as stream:
            yield from sessions_jsonl.read(stream, place=place)
        return
    words = _words(tree, file.name)
    if not words.strip():
        yield place.left("empty file")
    elif file.what == "daily":
        day = daily_log.day_of(file.name)
        found = daily_log.read(words, day=day, place=place) if day else [place.left("no day")]
        yield from found
    elif file.what == "facts" or file.what in _KINDS:
        yield from memory_md.read(words, place=place, kind=_KINDS.get(file.what, "fact"))
    else:
        yield from _SMALL[file.what](words, place)


def _context(words: str, place: Place) -> Iterator[Found]:
    yield ChatItem(path=place.path, chat=place.chat, context=words.strip(), at=place.modified)


def _summary(words: str, place: Place) -> Iterator[Found]:
    lines = words.strip().split("\n")
    title = lines[0].lstrip("# ").strip() if lines[0].startswith("#") else ""
    body = "\n".join(lines[1:] if title else lines).strip()
    made = {"title": title[: daily_log.TITLE_LIMIT], "body": body or title, "tags": ("summary",)}
    yield EpisodeItem(path=place.path, chat=place.chat, at=place.modified, **made)


def _core(words: str, place: Place) -> Iterator[Found]:
    yield CoreItem(path=place.path, text=words.strip(), at=place.modified)


_SMALL = {
    "context": _context,
    "summary": _summary,
    "core": _core,
    "patterns": lambda words, place: patterns_json.read(words, place=place),
    "rules": lambda words, place: rules_json.read(words, place=place),
    "preferences": lambda words, place: preferences_md.read(words, place=place),
}


def _newest(notes: list[Found]) -> Iterator[Found]:
    """A chat has one working note; the documents name it .json, the code .md."""
    found = [note for note in notes if isinstance(note, WorkingItem)]
    newest = max(found, key=lambda note: (note.at is not None, note.at), default=None)
    for note in notes:
        if isinstance(note, WorkingItem) and note is not newest:
            yield Place(note.path).left("older copy", text=note.text)
        else:
            yield note


def _words(tree: safe.Tree, name: str) -> str:
    return text.clean(safe.read_text(tree, name), limit=None)


def _rank(what: str) -> int:
    return _ORDER.index(what) if what in _ORDER else len(_ORDER)
