"""Claude's data export: conversations, and the memory it keeps of its person."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from memory.text import normalise as text
from memory.transfer.items import ChatItem, Found, MessageItem, Place, chat_key
from memory.transfer.kenobot import memory_md
from memory.transfer.kenobot.daily_log import message_text
from memory.transfer.readers.conversations import Export
from memory.transfer.readers.json_values import parse_time, text_or_empty

MEMORIES = re.compile(r"(?:.*/)?(?:memories|memories/[^/]+)\.json$")
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
MEMORY_FIELDS = ("conversations_memory", "project_memories", "memory_files")


def recognises(first: object) -> bool:
    """Return whether an element of conversations.json or memories.json is Claude's."""
    return isinstance(first, dict) and (
        isinstance(first.get("chat_messages"), list) or not first.keys().isdisjoint(MEMORY_FIELDS)
    )


def _conversation(data: object, place: Place) -> Iterator[Found]:
    messages = data.get("chat_messages") if isinstance(data, dict) else None
    if not isinstance(messages, list):
        yield place.left("not a message", text=text.short(str(data), 80))
        return
    name, started = text_or_empty(data.get("name")), parse_time(data.get("created_at"))
    key = chat_key("claude", text_or_empty(data.get("uuid")) or f"{name}|{data.get('created_at')}")
    yield ChatItem(**place.here, chat=key, title=name, at=started)
    for number, each in enumerate(messages, 1):
        yield _message(each, key, started, place.at(f"{place.part}.{number}"))


def _message(data: object, key: str, started, place: Place) -> Found:
    if not isinstance(data, dict):
        return place.left("not a message", text=text.short(str(data), 80))
    content = text_or_empty(data.get("text")) or message_text(data.get("content"))
    role = _ROLES.get(text_or_empty(data.get("sender")))
    if role is None:
        return place.left("unknown role", text=text_or_empty(data.get("sender")))
    if not content.strip():
        return place.left("empty message")
    identity = text_or_empty(data.get("uuid")) or text.said_key(f"{place.part}|{content}")[:32]
    values = {"at": parse_time(data.get("created_at")) or started, "external_id": identity}
    return MessageItem(**place.here, chat=key, role=role, text=content, **values)


def _memories(data: Any, place: Place) -> Iterator[Found]:
    for number, each in enumerate(data if isinstance(data, list) else [data], 1):
        if not recognises(each):
            yield place.at(f"#{number}").left("not a memory", text=text.short(str(each), 80))
            continue
        for part, block, modified in _blocks(each):
            spot = Place(f"{place.path}#{number}.{part}", modified=modified or place.modified)
            yield from memory_md.read(text.clean(block, limit=None), place=spot)
        for key in sorted(set(each) - {*MEMORY_FIELDS, "account_uuid"}):
            yield place.at(f"#{number}.{key}").left("unknown field")


def _blocks(data: dict) -> Iterator[tuple[str, str, object]]:
    """Yield every piece of Markdown with a name for the report."""
    yield "conversations_memory", text_or_empty(data.get("conversations_memory")), None
    projects = data.get("project_memories")
    for key, block in projects.items() if isinstance(projects, dict) else ():
        yield f"project_memories.{key}", f"## Projects\n{text_or_empty(block)}", None
    files = data.get("memory_files")
    for entry in files if isinstance(files, list) else ():
        if isinstance(entry, dict):
            path = PurePosixPath(text_or_empty(entry.get("path"))).name
            content, at = text_or_empty(entry.get("content")), parse_time(entry.get("updated_at"))
            yield f"memory_files.{path}", content, at


def _reason_to_leave(name: str) -> str:
    return "account" if name.endswith(".json") else "media"


EXPORT = Export(MEMORIES, _conversation, _memories, _reason_to_leave)
