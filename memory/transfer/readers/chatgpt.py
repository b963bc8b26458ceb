"""ChatGPT's data export: conversations as trees of messages, and what it noted in its memory."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memory.text import normalise as text
from memory.transfer.items import ChatItem, FactItem, Found, MessageItem, Place, chat_key
from memory.transfer.readers.conversations import Export
from memory.transfer.readers.json_values import parse_time, text_or_empty

MEMORIES = re.compile(r"(?:.*/)?(?:memory|memories)\.json$")
_ACCOUNT = re.compile(
    r"(?:.*/)?(?:user|user_settings|message_feedback|model_comparisons|shared_conversations"
    r"|export_manifest|group_chats|shopping|sora|tool_messages)\.json$"
)
_ROLES = {"user": "user", "assistant": "assistant"}
_WORDS = {"text", "multimodal_text", "code"}


def recognises(first: object) -> bool:
    """Return whether an element of conversations.json is ChatGPT's."""
    return isinstance(first, dict) and isinstance(first.get("mapping"), dict)


def _reason_to_leave(name: str) -> str:
    if name.rpartition("/")[2] == "chat.html":
        return "page"
    return "account" if _ACCOUNT.match(name) else "media"


def _conversation(data: Any, place: Place) -> Iterator[Found]:
    if not recognises(data):
        yield place.left("not a message", text=text.short(str(data), 80))
        return
    title = text_or_empty(data.get("title"))
    identity = text_or_empty(data.get("conversation_id")) or text_or_empty(data.get("id"))
    key = chat_key("chatgpt", identity or f"{title}|{data.get('create_time')}")
    started = parse_time(data.get("create_time"))
    yield ChatItem(**place.here, chat=key, title=title, at=started)
    path = _visible_path(data)
    order = [*path, *sorted(set(data["mapping"]) - set(path))]
    for number, node in enumerate(order, 1):
        spot = place.at(f"{place.part}.{number}")
        yield from _message(data["mapping"][node], node, node in path, key, started, spot)


def _visible_path(data: dict) -> dict[str, None]:
    """Return the ids from the root to the last visible message; all if that is not known."""
    mapping, node = data["mapping"], data.get("current_node")
    path: dict[str, None] = {}
    while isinstance(node, str) and node in mapping and node not in path:
        path[node] = None
        parent = mapping[node]
        node = parent.get("parent") if isinstance(parent, dict) else None
    return dict.fromkeys(reversed(path)) if path else dict.fromkeys(mapping)


def _message(
    node: object, name: str, shown: bool, key: str, started: datetime | None, place: Place
) -> Iterator[Found]:
    message = node.get("message") if isinstance(node, dict) else None
    if not isinstance(message, dict):
        return  # the empty root of the tree
    author = message.get("author")
    author = author if isinstance(author, dict) else {}
    content, role = _text_of(message.get("content")), _ROLES.get(text_or_empty(author.get("role")))
    at = parse_time(message.get("create_time")) or started
    if message.get("recipient") == "bio" and content.strip():
        # What it told its own memory: each line is one thing it meant to keep.
        for line in filter(None, map(str.strip, content.split("\n"))):
            yield FactItem(**place.here, text=line, quote=line, at=at, confidence=0.6)
    elif not shown:
        yield place.left("other branch", text=text.short(content, 80))
    elif role is None:
        yield place.left("unknown role", text=text_or_empty(author.get("role")))
    elif not content.strip():
        yield place.left("empty message")
    elif message.get("recipient", "all") not in ("all", None):
        yield place.left("hidden", text=text.short(content, 80))
    else:
        identity = text_or_empty(message.get("id")) or name
        values: dict[str, Any] = {"chat": key, "at": at, "role": role, "text": content}
        yield MessageItem(**place.here, **values, external_id=identity)


def _text_of(content: object) -> str:
    if not isinstance(content, dict) or content.get("content_type", "text") not in _WORDS:
        return ""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return text_or_empty(content.get("text"))
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def _memories(data: Any, place: Place) -> Iterator[Found]:
    if isinstance(data, dict):
        data = data.get("memories") or data.get("results") or []
    for number, each in enumerate(data if isinstance(data, list) else [data], 1):
        yield _memory(each, place.at(f"#{number}"))


def _memory(data: object, place: Place) -> Found:
    entry = data if isinstance(data, dict) else {"content": data}
    memory = next(filter(None, map(entry.get, ("content", "text", "memory"))), "")
    memory = text_or_empty(memory).strip()
    if not memory:
        return place.left("not a memory", text=text.short(str(data), 80))
    if entry.get("enabled") is False:
        return place.left("switched off", text=text.short(memory, 80))
    at = parse_time(entry.get("created_at"))
    return FactItem(**place.here, at=at, text=memory, quote=memory)


EXPORT = Export(MEMORIES, _conversation, _memories, _reason_to_leave)
