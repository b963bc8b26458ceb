"""Read a KenoBot folder in any of its three layouts; every line is imported or reported."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memory.text import normalise as text
from memory.transfer import containers
from memory.transfer.items import ChatItem, CoreItem, EpisodeItem, Found, Place, WorkingItem
from memory.transfer.kenobot import daily_log, memory_md, small_files

_CHAT_GROUP = r"(?P<chat>[^/]+)"
_DAY = r"\d{4}-\d{2}-\d{2}"
_KNOWN_FOLDERS = {
    *("memory", "data", "config", "sleep", "backups", "identity", "identities", "semantic"),
    *("episodic", "procedural", "chats", "working", "sessions", "embeddings", "trash"),
}
# What a path below memory/ is; the first that fits.
_MEMORY = [
    ("facts", r"MEMORY\.md"),
    ("daily", rf"(?:episodic/(?:shared/)?)?{_DAY}\.md"),
    ("facts", r"semantic/facts\.md"),
    ("concepts", r"semantic/concepts\.md"),
    ("procedures", r"semantic/procedures\.md"),
    ("errors", r"semantic/errors\.md"),
    ("facts", rf"(?:episodic/)?chats/{_CHAT_GROUP}/(?:MEMORY|facts)\.md"),
    ("daily", rf"(?:episodic/)?chats/{_CHAT_GROUP}/{_DAY}\.md"),
    ("summary", rf"(?:episodic/)?chats/{_CHAT_GROUP}/summary\.md"),
    ("context", rf"(?:episodic/)?chats/{_CHAT_GROUP}/context\.md"),
    ("working", rf"working/{_CHAT_GROUP}\.(?:md|json|txt)"),
    ("patterns", r"procedural/patterns\.json"),
    ("core", r"identity/core\.md"),
    ("rules", r"identity/rules\.json"),
    ("preferences", r"identity/preferences\.md"),
    ("not:bootstrap", r"identity/BOOTSTRAP\.md"),
    ("not:vectors", r"embeddings/.*|embeddings\.db"),
    ("not:thrown away", r"(?:trash|archive)/.*"),
]
_ELSEWHERE = [
    ("session", rf"(?:data/)?sessions/{_CHAT_GROUP}\.jsonl"),
    ("not:settings", r"(?:config/)?\.env(?:\..*)?|config/.*"),
    ("not:logs", r"(?:data/)?logs/.*|sleep/logs/.*"),
    ("not:scheduler", r"(?:data/)?scheduler/.*"),
    ("not:suggestions", r"(?:data/)?sleep/proposals/.*"),
    ("not:signals", r"(?:data/)?(?:nervous|motor)/.*"),
    ("not:process", r"(?:data/)?[^/]*\.pid"),
    ("not:backups", r"backups/.*"),
    ("old identity", r"identities/[^/]+\.md"),
    ("not:old identity", r"identities/.*"),
    ("not:system file", r"(?:.*/)?(?:\.DS_Store|Thumbs\.db|desktop\.ini|\.gitkeep|\.keep)"),
    ("not:system file", r"__MACOSX/.*|(?:.*/)?\._.*|(?:.*/)?\.git/.*"),
]
_PATTERNS = [
    *((what, re.compile(rf"(?:(?:data/)?memory/)?(?:{rx})")) for what, rx in _MEMORY),
    *((what, re.compile(rx)) for what, rx in _ELSEWHERE),
]
# A tree is KenoBot's when it holds one of these.
_TELLTALE = {"facts", "daily", "context", "working", "patterns", "core", "rules", "session"}


@dataclass(frozen=True)
class File:
    """A file of the tree: what it is, and of which chat."""

    name: str
    what: str
    chat: str = ""


def classify_files(names: Iterable[str]) -> list[File]:
    """Return every name with the kind of file it is, or "unknown"."""
    names = list(names)
    cut = len(_wrapping_folders(names))
    return [_classify(name, name[cut:]) for name in names]


def is_kenobot(names: Iterable[str]) -> bool:
    return any(file.what in _TELLTALE for file in classify_files(names))


def _classify(name: str, path: str) -> File:
    for what, pattern in _PATTERNS:
        if match := pattern.fullmatch(path):
            return File(name, what, match.groupdict().get("chat") or "")
    return File(name, "unknown")


def _wrapping_folders(names: list[str]) -> str:
    """Return the folders around the tree: ".kenobot/", "backup-3/.kenobot/"."""
    prefix = ""
    while True:
        inside = [name[len(prefix) :] for name in names if not name.startswith("__MACOSX/")]
        tops = {name.partition("/")[0] for name in inside}
        if len(tops) != 1 or not all("/" in name for name in inside):
            return prefix
        top = tops.pop()
        if top in _KNOWN_FOLDERS:
            return prefix
        prefix += top + "/"


CHAT_KEY = re.compile(r"[A-Za-z0-9_-]{1,161}")
# Messages last: facts and episodes are what a person wants to see first in a report.
_ORDER = (
    *("core", "old identity", "rules", "preferences", "context", "facts", "concepts", "procedures"),
    *("errors", "summary", "daily", "patterns", "working", "session"),
)
LAST = len(_ORDER)
_RANK = {what: number for number, what in enumerate(_ORDER)}
_KINDS = {"concepts": "concept", "procedures": "procedure", "errors": "lesson"}


def opens(tree: containers.Tree) -> tuple[list[str], list[str]]:
    """Return the names that are read whole and those that are streamed."""
    files = classify_files(tree.entries)
    streamed = [file.name for file in files if file.what == "session"]
    return [file.name for file in files if file.what != "session"], streamed


def read(tree: containers.Tree) -> Iterator[Found]:
    files = classify_files(tree.entries)
    working: dict[str, list] = {}
    has_core = any(file.what == "core" for file in files)
    for file in sorted(files, key=lambda file: (_RANK.get(file.what, LAST), file.name)):
        place = Place(file.name, file.chat, tree.entries[file.name].modified)
        is_left = file.what.startswith("not:") or file.what == "unknown"
        if is_left or (file.what == "old identity" and has_core):
            yield place.left(file.what.removeprefix("not:"))
        elif file.chat and not CHAT_KEY.fullmatch(file.chat):
            yield place.left("chat key", text=file.chat)
        elif file.what == "working":
            note = small_files.read_working_note(_read_text(tree, file.name), place=place)
            working.setdefault(file.chat, []).append(note)
        else:
            yield from _read(tree, file, place)
    for notes in working.values():
        yield from _newest(notes)


def _read(tree: containers.Tree, file: File, place: Place) -> Iterator[Found]:
    if file.what == "session":
        with containers.stream(tree, file.name) as stream:
            yield from daily_log.read_session(stream, place=place)
        return
    content = _read_text(tree, file.name)
    if not content.strip():
        yield place.left("empty file")
    elif file.what == "daily":
        day = daily_log.day_of(file.name)
        yield from daily_log.read(content, day=day, place=place) if day else [place.left("no day")]
    elif file.what == "facts" or file.what in _KINDS:
        yield from memory_md.read(content, place=place, kind=_KINDS.get(file.what, "fact"))
    else:
        yield from _READERS[file.what](content, place=place)


def _context(content: str, *, place: Place) -> Iterator[Found]:
    yield ChatItem(path=place.path, chat=place.chat, context=content.strip(), at=place.modified)


def _summary(content: str, *, place: Place) -> Iterator[Found]:
    lines = content.strip().split("\n")
    title = lines[0].lstrip("# ").strip() if lines[0].startswith("#") else ""
    body = "\n".join(lines[1:] if title else lines).strip()
    values = {"title": title[: daily_log.TITLE_LIMIT], "body": body or title, "tags": ("summary",)}
    yield EpisodeItem(path=place.path, chat=place.chat, at=place.modified, **values)


def _core(content: str, *, place: Place) -> Iterator[Found]:
    yield CoreItem(path=place.path, text=content.strip(), at=place.modified)


_READERS = {
    "context": _context,
    "summary": _summary,
    "core": _core,
    # From before the three layers; the first is who KenoBot was.
    "old identity": _core,
    "patterns": small_files.read_patterns,
    "rules": small_files.read_rules,
    "preferences": small_files.read_preferences,
}


def _newest(notes: list[Found]) -> Iterator[Found]:
    """Keep the newest of a chat's working notes: KenoBot wrote both .json and .md."""
    items = [note for note in notes if isinstance(note, WorkingItem)]
    newest = max(items, key=lambda note: (note.at is not None, note.at), default=None)
    for note in notes:
        if isinstance(note, WorkingItem) and note is not newest:
            yield Place(note.path).left("older copy", text=note.text)
        else:
            yield note


def _read_text(tree: containers.Tree, name: str) -> str:
    return text.clean(containers.read_text(tree, name), limit=None)
