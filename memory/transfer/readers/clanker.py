"""Clanker: its SQLite file (facts of one server, their messages) and its daily journals."""

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.utils.translation import gettext as _

from memory.text import normalise as text
from memory.transfer import containers
from memory.transfer.containers import MB, Refused
from memory.transfer.items import FactItem, Found, Left, MessageItem, Place, chat_key
from memory.transfer.kenobot import daily_log
from memory.transfer.readers.json_values import number_in_range, parse_time, text_or_empty

MAGIC = b"SQLite format 3\x00"
FILE_LIMIT = 500 * MB
# A crafted file can make one query run for ever; an honest one needs a fraction of this.
STEPS = 100_000
TICKS = 600
LORE = "__lore__"
NEEDED = {"guild_id", "subject", "fact"}
_CATEGORIES = {"preference", "profile", "relationship", "project"}
_FACTS = (
    "SELECT id, created_at, updated_at, guild_id, channel_id, subject, fact, fact_type,"
    " evidence_text, source_message_id, confidence, is_active FROM memory_facts ORDER BY id"
)
_MESSAGES = (
    "SELECT message_id, created_at, guild_id, channel_id, author_id, author_name, is_bot,"
    " content, referenced_message_id FROM messages ORDER BY created_at, message_id"
)


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file read-only; a damaged one raises Refused with a sentence."""
    if path.stat().st_size > FILE_LIMIT:
        raise containers.too_large(path.name, FILE_LIMIT)
    try:
        # immutable: no lock, no journal and no write-ahead file of a stranger is touched.
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            _tame(database)
            yield database
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        sentence = _("The SQLite file cannot be read: %s.") % error
        raise Refused("sqlite", sentence) from error


def _tame(database: sqlite3.Connection) -> None:
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MB)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        database.execute(f"PRAGMA {pragma}")
    ticks = iter(range(TICKS))
    database.set_progress_handler(lambda: next(ticks, None) is None, STEPS)


def is_clanker_database(path: Path) -> bool:
    with path.open("rb") as file:
        if file.read(16) != MAGIC:
            return False
    with open_database(path) as database:
        return _columns(database, "memory_facts") >= NEEDED


def guilds(path: Path) -> dict[str, int]:
    """Return every server in the file with its number of facts."""
    with open_database(path) as database:
        if not _columns(database, "memory_facts") >= NEEDED:
            raise Refused("sqlite", _("This is not a Clanker file: it has no table memory_facts."))
        rows = database.execute("SELECT guild_id, count(*) FROM memory_facts GROUP BY 1 ORDER BY 1")
        return {str(guild): count for guild, count in rows}


def choose_guild(path: Path, guild: str) -> str:
    """Return the server to import: the one named, or the only one."""
    names = guilds(path)
    if guild and guild in names:
        return guild
    if not guild and len(names) <= 1:
        return next(iter(names), "")
    listed = ", ".join(f"{name} ({count})" for name, count in names.items())
    sentence = _("Which server? A space takes one. The file holds (with facts): %s.") % listed
    raise Refused("guild", sentence)


def read_database(path: Path, *, guild: str) -> Iterator[Found]:
    with open_database(path) as database:
        yield from _messages(database, path.name, guild)
        yield from _facts(database, path.name, guild, _names(database))
        yield from _rest(database, path.name)


def _messages(database, name: str, guild: str) -> Iterator[Found]:
    if not _columns(database, "messages"):
        return
    for row in database.execute(_MESSAGES):
        identity, where, channel, author = (_id(value) for value in row[:1] + row[2:5])
        place = Place(name, part=f"#messages.{identity}")
        content = text_or_empty(row[7])
        if where != guild:
            yield place.left("other guild" if where else "no guild")
        elif not content.strip():
            yield place.left("empty message")
        else:
            yield MessageItem(
                **place.here,
                chat=chat_key("discord", channel),
                at=parse_time(row[1]),
                role="assistant" if row[6] else "user",
                author=text_or_empty(row[5]),
                author_id=author,
                text=content,
                external_id=identity,
                reply_to=_id(row[8]),
            )


def _facts(database, name: str, guild: str, names: dict[str, str]) -> Iterator[Found]:
    for row in database.execute(_FACTS):
        place = Place(name, part=f"#memory_facts.{row[0]}")
        content, subject, kind = text_or_empty(row[6]), _id(row[5]), text_or_empty(row[7]).lower()
        if _id(row[3]) != guild:
            yield place.left("other guild")
        elif not content.strip():
            yield place.left("not a memory")
        else:
            yield FactItem(
                **place.here,
                text=content,
                quote=text_or_empty(row[8]),
                # Facts are known by the id of a person; people know each other by name.
                subject=names.get(subject, subject),
                said_by=names.get(subject, ""),
                fact_kind="lore" if subject == LORE or kind == "lore" else "fact",
                category=kind if kind in _CATEGORIES else "other",
                confidence=number_in_range(row[10], 0.5, low=0, high=1),
                archived=not row[11],
                at=parse_time(row[1]),
                updated_at=parse_time(row[2]),
                message=_id(row[9]),
                message_chat=chat_key("discord", _id(row[4])) if row[4] else "",
            )


def _rest(database, name: str) -> Iterator[Left]:
    """Count what is not imported: the action log by kind, other tables by name."""
    place = Place(name)
    if _columns(database, "actions"):
        counted = database.execute("SELECT kind, count(*) FROM actions GROUP BY 1 ORDER BY 1")
        for kind, count in counted:
            yield place.at(f"#actions.{kind}").left("action log", count=count)
    listed = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    for (table,) in listed.fetchall():
        if table not in ("memory_facts", "messages", "actions") and text_or_empty(table):
            yield place.at(f"#{table}").left("vectors" if "vector" in table else "other table")


def _names(database) -> dict[str, str]:
    """Return the newest name of every author."""
    if not _columns(database, "messages"):
        return {}
    rows = database.execute("SELECT author_id, author_name FROM messages ORDER BY created_at")
    return {_id(author): name for author, name in rows if text_or_empty(name).strip()}


def _columns(database, table: str) -> set[str]:
    """Return the columns of a table of plain rows; a view or a computed column has no end."""
    definition = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
    row = database.execute(definition, [table]).fetchone()
    if not row or not str(row[0]).lstrip().upper().startswith("CREATE TABLE"):
        return set()
    columns = database.execute(f"PRAGMA table_xinfo({table})").fetchall()
    if any(hidden for *_rest, hidden in columns):
        return set()
    return {column[1] for column in columns}


def _id(value: object) -> str:
    return str(value) if isinstance(value, str | int) else ""


JOURNAL_TITLE = "# Daily Memory Log"
_JOURNAL_ENTRY = re.compile(
    r"-\s+(?P<at>\S+)\s+\|\s+(?P<author>.*?)\s+\((?P<id>[^()]*)\)\s+\|\s+"
    r"(?:\[(?P<scope>[^\]]*)\]\s*)?(?P<text>.*)$"
)
_JOURNAL_SCOPE = re.compile(r"(guild|channel):(\S+)")


def read_journal(content: str, *, place: Place, guild: str, covered: set[str]) -> Iterator[Found]:
    """Read a journal; skip chats in `covered`, whose messages came from the database."""
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        entry = _JOURNAL_ENTRY.match(line)
        if not entry:
            yield place.left("heading", line=number, text=line.strip())
            continue
        scope = dict(_JOURNAL_SCOPE.findall(entry["scope"] or ""))
        key = chat_key("discord", scope.get("channel", "journal"))
        if guild and scope.get("guild", guild) != guild:
            yield place.left("other guild", line=number)
        elif key in covered:
            yield place.left("in the database", line=number)
        elif not entry["text"].strip():
            yield place.left("empty message", line=number)
        else:
            yield MessageItem(
                **place[number, number],
                chat=key,
                at=parse_time(entry["at"]) or place.modified,
                role="user",
                author=entry["author"],
                author_id=entry["id"],
                text=entry["text"].strip(),
                external_id="journal-" + hashlib.sha256(line.encode()).hexdigest()[:32],
            )


_SIDE_FILES = ("-wal", "-shm", "-journal")


def databases(tree: containers.Tree) -> list[str]:
    """Return the SQLite files; only in a folder, because SQLite cannot read inside a zip."""
    return [name for name in tree.entries if _starts(tree, name, MAGIC)]


def journals(tree: containers.Tree) -> list[str]:
    names = (name for name in tree.entries if daily_log.NAME.search(name))
    return [name for name in names if _starts(tree, name, JOURNAL_TITLE.encode())]


def is_clanker(tree: containers.Tree, path: Path) -> bool:
    files = [path / name if path.is_dir() else path for name in databases(tree)]
    if files and not path.is_dir():
        return is_clanker_database(path)
    return any(map(is_clanker_database, files)) or bool(journals(tree))


def opens(tree: containers.Tree) -> tuple[list[str], list[str]]:
    return journals(tree), []


def read(tree: containers.Tree, path: Path, *, guild: str = "") -> Iterator[Found]:
    covered: set[str] = set()
    names = databases(tree)
    if len(names) > 1:
        sentence = _("There are several databases, name one: %s.")
        raise containers.Refused("databases", sentence % ", ".join(names))
    for name in names:
        file = path / name if path.is_dir() else path
        guild = choose_guild(file, guild)
        ahead = file.with_name(file.name + "-wal")
        if ahead.is_file() and ahead.stat().st_size:
            yield Place(name + "-wal").left("write-ahead")
        for item in read_database(file, guild=guild):
            if isinstance(item, MessageItem):
                covered.add(item.chat)
            yield item
    for name in sorted(set(tree.entries) - set(names)):
        yield from _beside(tree, name, guild=guild, covered=covered)


def _beside(tree: containers.Tree, name: str, *, guild: str, covered: set[str]) -> Iterator[Found]:
    place = Place(name, modified=tree.entries[name].modified)
    if name in journals(tree):
        content = text.clean(containers.read_text(tree, name), limit=None)
        yield from read_journal(content, place=place, guild=guild, covered=covered)
    elif name.endswith("MEMORY.md"):
        yield place.left("snapshot")
    else:
        yield place.left("system file" if name.endswith(_SIDE_FILES) else "unknown")


def _starts(tree: containers.Tree, name: str, prefix: bytes) -> bool:
    if tree.entries[name].size < len(prefix):
        return False
    with tree.open(name) as file:
        return file.read(len(prefix)) == prefix
