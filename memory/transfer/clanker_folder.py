"""A Clanker folder: its database, and the journals beside it."""

from collections.abc import Iterator
from pathlib import Path

from django.utils.translation import gettext as _

from memory import text
from memory.transfer import clanker, clanker_journal, safe
from memory.transfer.items import Found, MessageItem, Place
from memory.transfer.kenobot import daily_log

_SIDE_FILES = ("-wal", "-shm", "-journal")


def databases(tree: safe.Tree) -> list[str]:
    """The SQLite files in it; only in a folder, for SQLite cannot read inside a zip."""
    return [name for name in tree.entries if _is_sqlite(tree, name)]


def journals(tree: safe.Tree) -> list[str]:
    names = (name for name in tree.entries if daily_log.NAME.search(name))
    return [name for name in names if _starts(tree, name, clanker_journal.TITLE.encode())]


def is_clanker(tree: safe.Tree, path: Path) -> bool:
    if path.is_dir():
        found = (path / name for name in databases(tree))
        return any(map(clanker.is_clanker, found)) or bool(journals(tree))
    if databases(tree):
        return clanker.is_clanker(path)
    return bool(journals(tree))


def opens(tree: safe.Tree) -> tuple[list[str], list[str]]:
    return journals(tree), []


def read(tree: safe.Tree, path: Path, *, guild: str = "") -> Iterator[Found]:
    covered: set[str] = set()
    found = databases(tree)
    if len(found) > 1:
        listed = ", ".join(found)
        raise safe.Refused("databases", _("There are several databases, name one: %s.") % listed)
    for name in found:
        file = path / name if path.is_dir() else path
        guild = clanker.choose(file, guild)
        yield from _write_ahead(file, name)
        for item in clanker.read(file, guild=guild):
            if isinstance(item, MessageItem):
                covered.add(item.chat)
            yield item
    for name in sorted(set(tree.entries) - set(found)):
        yield from _beside(tree, name, guild=guild, covered=covered)


def _beside(tree: safe.Tree, name: str, *, guild: str, covered: set[str]) -> Iterator[Found]:
    place = Place(name, modified=tree.entries[name].modified)
    if name in journals(tree):
        words = text.clean(safe.read_text(tree, name), limit=None)
        yield from clanker_journal.read(words, place=place, guild=guild, covered=covered)
    elif name.endswith("MEMORY.md"):
        yield place.left("snapshot")
    else:
        yield place.left("system file" if name.endswith(_SIDE_FILES) else "unknown")


def _write_ahead(file: Path, name: str) -> Iterator[Found]:
    beside = file.with_name(file.name + "-wal")
    if beside.is_file() and beside.stat().st_size:
        yield Place(name + "-wal").left("write-ahead")


def _is_sqlite(tree: safe.Tree, name: str) -> bool:
    return _starts(tree, name, clanker.MAGIC)


def _starts(tree: safe.Tree, name: str, mark: bytes) -> bool:
    if tree.entries[name].size < len(mark):
        return False
    with tree.open(name) as file:
        return file.read(len(mark)) == mark
