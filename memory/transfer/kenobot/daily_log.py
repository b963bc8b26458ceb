"""Daily logs, one entry for each thing that happened, and sessions, one line a message."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from io import BufferedReader

from memory.text import normalise as text
from memory.text.frontmatter import read_fields
from memory.transfer.items import EpisodeItem, Left, MessageItem, Place
from memory.transfer.kenobot import escapes
from memory.transfer.readers import json_values
from memory.transfer.readers.json_values import loads, parse_time, text_or_empty

NAME = re.compile(r"(\d{4}-\d{2}-\d{2})\.md$")
# KenoBot writes an em dash; its documents a hyphen; its compactor two; people type any.
_ENTRY = re.compile(r"##\s*(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s*(?:—|–|―|--|-|:)\s*|\s+|$)(.*)$")
# The title of a file, or its date: nothing that happened.
_DATE_HEADING = re.compile(r"#(?:\s|$)|#{1,6}\s+\D{0,40}\d{4}-\d{2}-\d{2}$|#{1,6}$")
_TITLE = re.compile(r"##+\s+(?!\D{0,40}\d{4}-\d{2}-\d{2}$)(\S.*)$")
TITLE_LIMIT = 200
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "system": "system"}


@dataclass
class _Section:
    """The lines below one front matter, or before the first."""

    start: int
    fields: dict = field(default_factory=dict)
    first: int = 0  # the first line below the front matter
    end: int = 0


def day_of(name: str) -> date | None:
    """Return the date in a file name; None when it is not a daily log."""
    found = NAME.search(name)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def read(content: str, *, day: date, place: Place) -> Iterator[EpisodeItem | Left]:
    lines = content.split("\n")
    for section in _sections(lines):
        yield from _entries(lines, section, day=day, place=place)


def _sections(lines: list[str]) -> list[_Section]:
    sections, at = [_Section(start=0, end=len(lines))], 0
    while at < len(lines):
        after = escapes.find_end(lines, at)
        if after > at:
            values = read_fields(lines[at + 1 : after - 1]).items()
            fields = {name.lower(): value for name, value in values}
            sections[-1].end = at
            sections.append(_Section(start=at, fields=fields, first=after, end=len(lines)))
        at = max(after, at + 1)
    return sections


def _entries(lines, section: _Section, *, day: date, place: Place) -> Iterator:
    """Yield the entries of a section, each from its heading to the next."""
    starts = [
        (at, match)
        for at in range(section.first, section.end)
        if (match := _ENTRY.match(lines[at])) and _clock(match)
    ]
    first = starts[0][0] if starts else section.end
    yield from _untimed(lines, section, first, day=day, place=place)
    ends = [at for at, _match in starts[1:]] + [section.end]
    for (at, match), end in zip(starts, ends, strict=False):
        head = escapes.unescape_item(match[4].strip())
        rest = escapes.unescape_body("\n".join(lines[at + 1 : end])).strip("\n").rstrip()
        title = head if rest and len(head) <= TITLE_LIMIT else ""
        body = rest if title else "\n".join(filter(None, (head, rest)))
        spot = {"span": (at + 1, _last(lines, at, end)), "section": section, "place": place}
        when = datetime.combine(day, _clock(match), UTC)
        yield _episode(title, body, when=when, to_the_minute=True, **spot)


def _untimed(lines, section: _Section, first: int, *, day: date, place: Place) -> Iterator:
    """Yield what precedes the first time: an episode, headings, or nothing."""
    start, title = section.first, section.fields.get("title")
    while start < first and title is None:
        line = lines[start].strip()
        if heading := _TITLE.match(line):
            title = heading[1].strip()
        elif line and _DATE_HEADING.match(line):
            yield place.left("heading", line=start + 1, text=line)
        elif line:
            break
        start += 1
    title = title if isinstance(title, str) else ""
    body = escapes.unescape_body("\n".join(lines[start:first])).strip("\n").rstrip()
    # The lines of the front matter, and the title, belong to what they describe.
    head = section.start if section.fields else section.first
    if body or title:
        when = parse_time(section.fields.get("timestamp")) or datetime.combine(day, time(), UTC)
        span = (head + 1, _last(lines, head, first))
        spot = {"when": when, "section": section, "span": span, "place": place}
        yield _episode(title if body else "", body or title, to_the_minute=False, **spot)
    elif section.fields:
        yield place.left("front matter", line=section.start + 1, end=section.first)


def _episode(title: str, body: str, *, when, section, span, place, to_the_minute) -> EpisodeItem:
    fields = section.fields
    return EpisodeItem(
        **place[span],
        chat=place.chat or text_or_empty(fields.get("session")),
        at=when,
        ended_at=parse_time(fields.get("ended")),
        title=title[:TITLE_LIMIT],
        body=body,
        tags=_as_texts(fields.get("tags")),
        participants=_as_texts(fields.get("participants")),
        discarded=text_or_empty(fields.get("status")).lower() == "discarded",
        discard_reason=text_or_empty(fields.get("discard_reason")),
        feedback=text_or_empty(fields.get("feedback")).lower(),
        to_the_minute=to_the_minute,
    )


def _clock(match: re.Match) -> time | None:
    try:
        return time(int(match[1]), int(match[2]), int(match[3] or 0))
    except ValueError:
        return None


def _last(lines: list[str], start: int, end: int) -> int:
    """Return the number of the last line in [start, end) that is not blank."""
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _as_texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    return tuple(each.strip() for each in value or () if each.strip())


def read_session(stream: BufferedReader, *, place: Place) -> Iterator[MessageItem | Left]:
    seen: Counter[str] = Counter()
    last = place.modified
    for number, line in json_values.lines(stream):
        if line is not None and not line.strip():
            continue
        item = _message(line, number, seen, last, place)
        if isinstance(item, MessageItem):
            last = item.at
        yield item


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
    # The same words may occur twice at the same time: both count.
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
    blocks = ({"text": block} if isinstance(block, str) else block for block in content)
    texts = (
        text_or_empty(block.get("text"))
        for block in blocks
        if isinstance(block, dict) and block.get("type", "text") == "text"
    )
    return "\n".join(filter(None, texts))
