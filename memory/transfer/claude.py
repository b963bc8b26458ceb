"""Claude's data export: conversations, and the memory it keeps of its person."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from memory import text
from memory.transfer import safe
from memory.transfer.items import ChatItem, Found, MessageItem, Place
from memory.transfer.json_reading import Broken, a_text, a_time, elements, loads
from memory.transfer.kenobot import memory_md
from memory.transfer.kenobot.sessions_jsonl import said
from memory.transfer.keys import chat_key

CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json$")
MEMORIES = re.compile(r"(?:.*/)?(?:memories|memories/[^/]+)\.json$")
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_ACCOUNT = re.compile(r".*\.json$")
MEMORY_FIELDS = ("conversations_memory", "project_memories", "memory_files")


def recognises(first: object) -> bool:
    """Whether an element of conversations.json or memories.json is Claude's."""
    if not isinstance(first, dict):
        return False
    return isinstance(first.get("chat_messages"), list) or any(
        key in first for key in MEMORY_FIELDS
    )


def opens(names: list[str]) -> tuple[list[str], list[str]]:
    return (
        [name for name in names if MEMORIES.match(name)],
        [name for name in names if CONVERSATIONS.match(name)],
    )


def read(tree: safe.Tree) -> Iterator[Found]:
    for name in sorted(tree.entries):
        place = Place(name, modified=tree.entries[name].modified)
        if MEMORIES.match(name):
            yield from _memories(safe.read_text(tree, name), place)
        elif CONVERSATIONS.match(name) or len(tree.entries) == 1:
            yield from _conversations(tree, place)
        else:
            yield place.left("account" if _ACCOUNT.match(name) else "media")


def _conversations(tree: safe.Tree, place: Place) -> Iterator[Found]:
    with safe.stream(tree, place.path) as stream:
        number = 0
        try:
            for number, each in enumerate(elements(stream), 1):
                yield from _conversation(each, f"#{number}", place)
        except Broken as error:
            yield place.left("broken JSON", part=f"#{number + 1}", text=str(error))


def _conversation(given: object, part: str, place: Place) -> Iterator[Found]:
    messages = given.get("chat_messages") if isinstance(given, dict) else None
    if not isinstance(messages, list):
        yield place.left("not a message", part=part, text=text.short(str(given), 80))
        return
    name, started = a_text(given.get("name")), a_time(given.get("created_at"))
    key = chat_key("claude", a_text(given.get("uuid")) or f"{name}|{given.get('created_at')}")
    yield ChatItem(path=place.path, part=part, chat=key, title=name, at=started)
    for number, each in enumerate(messages, 1):
        yield _message(each, f"{part}.{number}", key, started, place)


def _message(given: object, part: str, key: str, started, place: Place) -> Found:
    if not isinstance(given, dict):
        return place.left("not a message", part=part, text=text.short(str(given), 80))
    words = a_text(given.get("text")) or said(given.get("content"))
    role = _ROLES.get(a_text(given.get("sender")))
    if role is None:
        return place.left("unknown role", part=part, text=a_text(given.get("sender")))
    if not words.strip():
        return place.left("empty message", part=part)
    identity = a_text(given.get("uuid")) or text.said_key(f"{part}|{words}")[:32]
    made = {"at": a_time(given.get("created_at")) or started, "external_id": identity}
    return MessageItem(path=place.path, part=part, chat=key, role=role, text=words, **made)


def _memories(words: str, place: Place) -> Iterator[Found]:
    try:
        given = loads(words)
    except Broken as error:
        yield place.left("broken JSON", text=str(error))
        return
    for number, each in enumerate(given if isinstance(given, list) else [given], 1):
        if not recognises(each):
            yield place.left("not a memory", part=f"#{number}", text=text.short(str(each), 80))
            continue
        for part, block, modified in _blocks(each):
            spot = Place(f"{place.path}#{number}.{part}", modified=modified or place.modified)
            yield from memory_md.read(text.clean(block, limit=None), place=spot)
        for key in sorted(set(each) - {*MEMORY_FIELDS, "account_uuid"}):
            yield place.left("unknown field", part=f"#{number}.{key}")


def _blocks(given: dict) -> Iterator[tuple[str, str, object]]:
    """Every piece of Markdown in it, with a name for the report."""
    yield "conversations_memory", a_text(given.get("conversations_memory")), None
    projects = given.get("project_memories")
    for key, block in projects.items() if isinstance(projects, dict) else ():
        yield f"project_memories.{key}", f"## Projects\n{a_text(block)}", None
    files = given.get("memory_files")
    for entry in files if isinstance(files, list) else ():
        if isinstance(entry, dict):
            path = PurePosixPath(a_text(entry.get("path"))).name
            yield (
                f"memory_files.{path}",
                a_text(entry.get("content")),
                a_time(entry.get("updated_at")),
            )
