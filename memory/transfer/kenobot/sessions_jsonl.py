"""Session files: one JSON object a line, appended by a program that may die between two bytes."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from io import BufferedReader

from memory.text import normalise as text
from memory.transfer.items import Left, MessageItem, Place
from memory.transfer.readers import json_values
from memory.transfer.readers.json_values import loads, parse_time, text_or_empty

ROLES = {"user": "user", "human": "user", "assistant": "assistant", "system": "system"}


def read(stream: BufferedReader, *, place: Place) -> Iterator[MessageItem | Left]:
    seen: Counter[str] = Counter()
    last = place.modified
    for number, line in json_values.lines(stream):
        if line is not None and not line.strip():
            continue
        found = _message(line, number, seen, last, place)
        if isinstance(found, MessageItem):
            last = found.at
        yield found


def _message(
    line: str | None, number: int, seen: Counter, last: datetime | None, place: Place
) -> MessageItem | Left:
    if line is None:
        return place.left("line too long", line=number)
    try:
        data = loads(line)
    except json_values.Broken:
        return place.left("corrupt line", line=number, text=text.short(line, 80))
    if not isinstance(data, dict):
        return place.left("not a message", line=number, text=text.short(line, 80))
    role, content = ROLES.get(text_or_empty(data.get("role"))), message_text(data.get("content"))
    if role is None:
        return place.left("unknown role", line=number, text=text_or_empty(data.get("role")))
    if not content.strip():
        return place.left("empty message", line=number)
    # The same words of the same time may stand there twice: both count.
    stamp = data.get("timestamp")
    key = hashlib.sha256(f"{stamp}|{role}|{content}".encode("utf-8", "replace")).hexdigest()[:32]
    seen[key] += 1
    return MessageItem(
        **place[number, number],
        chat=place.chat,
        at=parse_time(stamp) or last,
        role=role,
        text=content,
        external_id=f"kenobot-{key}-{seen[key]}",
    )


def message_text(content: object) -> str:
    """Return the text of a message: a string, or the text blocks of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = (each if isinstance(each, str) else _block(each) for each in content)
    return "\n".join(block for block in blocks if block)


def _block(block: object) -> str:
    if not isinstance(block, dict) or block.get("type", "text") != "text":
        return ""
    return text_or_empty(block.get("text"))
