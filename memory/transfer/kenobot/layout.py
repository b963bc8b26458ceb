"""Where things lie in a KenoBot tree: all three layouts it ever had."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_KEY = r"(?P<chat>[^/]+)"
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
    ("facts", rf"(?:episodic/)?chats/{_KEY}/(?:MEMORY|facts)\.md"),
    ("daily", rf"(?:episodic/)?chats/{_KEY}/{_DAY}\.md"),
    ("summary", rf"(?:episodic/)?chats/{_KEY}/summary\.md"),
    ("context", rf"(?:episodic/)?chats/{_KEY}/context\.md"),
    ("working", rf"working/{_KEY}\.(?:md|json|txt)"),
    ("patterns", r"procedural/patterns\.json"),
    ("core", r"identity/core\.md"),
    ("rules", r"identity/rules\.json"),
    ("preferences", r"identity/preferences\.md"),
    ("not:bootstrap", r"identity/BOOTSTRAP\.md"),
    ("not:vectors", r"embeddings/.*|embeddings\.db"),
    ("not:thrown away", r"(?:trash|archive)/.*"),
]
_ELSEWHERE = [
    ("session", rf"(?:data/)?sessions/{_KEY}\.jsonl"),
    ("not:settings", r"(?:config/)?\.env(?:\..*)?|config/.*"),
    ("not:logs", r"(?:data/)?logs/.*|sleep/logs/.*"),
    ("not:scheduler", r"(?:data/)?scheduler/.*"),
    ("not:suggestions", r"(?:data/)?sleep/proposals/.*"),
    ("not:signals", r"(?:data/)?(?:nervous|motor)/.*"),
    ("not:process", r"(?:data/)?[^/]*\.pid"),
    ("not:backups", r"backups/.*"),
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


def files(names: Iterable[str]) -> list[File]:
    """Every name with what it is; "unknown" when no layout has such a file."""
    names = list(names)
    cut = len(_wrapping(names))
    return [_classified(name, name[cut:]) for name in names]


def is_kenobot(names: Iterable[str]) -> bool:
    return any(file.what in _TELLTALE for file in files(names))


def _classified(name: str, path: str) -> File:
    for what, pattern in _PATTERNS:
        if found := pattern.fullmatch(path):
            return File(name, what, found.groupdict().get("chat") or "")
    return File(name, "unknown")


def _wrapping(names: list[str]) -> str:
    """The folders around the tree that are not part of it: ".kenobot/", "backup-3/.kenobot/"."""
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
