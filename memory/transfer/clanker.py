"""Clanker's SQLite file: facts of one server, the messages they came from, and its journal."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.utils.translation import gettext as _

from memory.transfer.items import FactItem, Found, Left, MessageItem, Place
from memory.transfer.json_reading import a_number, a_text, a_time
from memory.transfer.keys import chat_key
from memory.transfer.safe import MB, Refused

MAGIC = b"SQLite format 3\x00"
FILE_LIMIT = 500 * MB
# A crafted file can make one query run for ever; an honest one needs a fraction of this.
STEPS = 100_000
TICKS = 600
LORE = "__lore__"
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
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, read-only and as it lies there; damage becomes a sentence."""
    if path.stat().st_size > FILE_LIMIT:
        sentence = _("%(name)s is larger than %(most)d MB.")
        raise Refused("size", sentence % {"name": path.name, "most": FILE_LIMIT // MB})
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
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 16 * MB)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        database.execute(f"PRAGMA {pragma}")
    ticks = iter(range(TICKS))
    database.set_progress_handler(lambda: next(ticks, None) is None, STEPS)


def is_clanker(path: Path) -> bool:
    with path.open("rb") as file:
        if file.read(16) != MAGIC:
            return False
    with opened(path) as database:
        return {"guild_id", "subject", "fact"} <= _columns(database, "memory_facts")


def guilds(path: Path) -> dict[str, int]:
    """Every server in the file and how many facts it has."""
    with opened(path) as database:
        _require(database)
        rows = database.execute("SELECT guild_id, count(*) FROM memory_facts GROUP BY 1 ORDER BY 1")
        return {str(guild): count for guild, count in rows}


def choose(path: Path, guild: str) -> str:
    """The server to import: the one named, or the only one."""
    found = guilds(path)
    if guild and guild in found:
        return guild
    if not guild and len(found) <= 1:
        return next(iter(found), "")
    listed = ", ".join(f"{name} ({count})" for name, count in found.items())
    sentence = _("Which server? A space takes one. The file holds (with facts): %s.") % listed
    raise Refused("guild", sentence)


def read(path: Path, *, guild: str = "") -> Iterator[Found]:
    guild = choose(path, guild)
    with opened(path) as database:
        names = dict(_names(database))
        yield from _messages(database, path.name, guild)
        yield from _facts(database, path.name, guild, names)
        yield from _rest(database, path.name)


def _messages(database, name: str, guild: str) -> Iterator[Found]:
    if not _columns(database, "messages"):
        return
    for row in database.execute(_MESSAGES):
        ids = [_id(value) for value in row[:1] + row[2:5]]
        identity, where, channel, author = ids
        place, part = Place(name), f"#messages.{identity}"
        words = a_text(row[7])
        if where != guild:
            yield place.left("other guild" if where else "no guild", part=part)
        elif not words.strip():
            yield place.left("empty message", part=part)
        else:
            yield MessageItem(
                path=name,
                part=part,
                chat=chat_key("discord", channel),
                at=a_time(row[1]),
                role="assistant" if row[6] else "user",
                author=a_text(row[5]),
                author_id=author,
                text=words,
                external_id=identity,
                reply_to=_id(row[8]),
            )


def _facts(database, name: str, guild: str, names: dict[str, str]) -> Iterator[Found]:
    for row in database.execute(_FACTS):
        place, part = Place(name), f"#memory_facts.{row[0]}"
        words, subject, kind = a_text(row[6]), _id(row[5]), a_text(row[7]).lower()
        if _id(row[3]) != guild:
            yield place.left("other guild", part=part)
        elif not words.strip():
            yield place.left("not a memory", part=part)
        else:
            yield FactItem(
                path=name,
                part=part,
                text=words,
                quote=a_text(row[8]),
                # Facts are known by the id of a person; people know each other by name.
                subject=names.get(subject, subject),
                said_by=names.get(subject, ""),
                fact_kind="lore" if subject == LORE or kind == "lore" else "fact",
                category=kind if kind in _CATEGORIES else "other",
                confidence=a_number(row[10], 0.5, low=0, high=1),
                archived=not row[11],
                at=a_time(row[1]),
                updated_at=a_time(row[2]),
                message=_id(row[9]),
                message_chat=chat_key("discord", _id(row[4])) if row[4] else "",
            )


def _rest(database, name: str) -> Iterator[Left]:
    """What is not memory, counted: the action log by kind, the other tables by name."""
    place = Place(name)
    if _columns(database, "actions"):
        counted = database.execute("SELECT kind, count(*) FROM actions GROUP BY 1 ORDER BY 1")
        for kind, count in counted:
            yield place.left("action log", part=f"#actions.{kind}", count=count)
    listed = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    for (table,) in listed.fetchall():
        if table not in ("memory_facts", "messages", "actions") and a_text(table):
            vectors = "vector" in table
            yield place.left("vectors" if vectors else "other table", part=f"#{table}")


def _names(database) -> Iterator[tuple[str, str]]:
    """The newest name of everybody who wrote."""
    if _columns(database, "messages"):
        rows = database.execute("SELECT author_id, author_name FROM messages ORDER BY created_at")
        yield from ((_id(who), a_text(called)) for who, called in rows if a_text(called).strip())


def _require(database) -> None:
    if not {"guild_id", "subject", "fact"} <= _columns(database, "memory_facts"):
        raise Refused("sqlite", _("This is not a Clanker file: it has no table memory_facts."))


def _columns(database, table: str) -> set[str]:
    return {row[1] for row in database.execute(f"PRAGMA table_info({table})")}


def _id(value: object) -> str:
    return str(value) if isinstance(value, str | int) else ""
