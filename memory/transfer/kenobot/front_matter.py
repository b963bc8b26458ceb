"""Front matter anywhere in a daily log, with the comments and lists that people write in YAML.

memory.frontmatter reads and writes the block at the top of one episode; a log may hold several.
"""

import json
import re
from collections.abc import Iterable

from memory.transfer.readers.json_values import Broken, loads

FENCE = re.compile(r"---\s*$")
_FIELD = re.compile(r"([A-Za-z_][\w-]{0,40})\s*:(?:\s+(.*)|\s*)$")
_LIST_ITEM = re.compile(r"\s*-\s+(.*)$")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
MAX_LINES = 60


def find_end(lines: list[str], start: int) -> int:
    """Return the line after a front matter that begins at `start`, or `start` if none does."""
    if start >= len(lines) or not FENCE.match(lines[start]):
        return start
    fields = 0
    for at in range(start + 1, min(len(lines), start + MAX_LINES)):
        line = lines[at]
        if FENCE.match(line):
            return at + 1 if fields else start
        is_field = bool(_FIELD.match(line))
        fields += is_field
        if line.strip() and not (is_field or _LIST_ITEM.match(line) or line[:1] == "#"):
            return start
    return start


def parse(lines: Iterable[str]) -> dict[str, str | list[str]]:
    """Return the fields between the fences: lists as lists, everything else as text."""
    found: dict[str, str | list[str]] = {}
    last = ""
    for line in lines:
        if field := _FIELD.match(line):
            last = field[1].lower()
            found[last] = _value(field[2] or "")
        elif (item := _LIST_ITEM.match(line)) and last:
            if not isinstance(found[last], list):
                found[last] = [found[last]] if found[last] else []
            found[last].append(_scalar(item[1]))
    return found


def _value(raw: str) -> str | list[str]:
    raw = raw.strip()
    if not raw.startswith("["):
        return _scalar(raw)
    try:
        listed = loads(_COMMENT.sub("", raw) if not raw.endswith("]") else raw)
    except Broken:
        inside = raw[1 : raw.rindex("]")] if "]" in raw else raw[1:]
        return [each for part in inside.split(",") if (each := _scalar(part))]
    return [str(each) for each in listed] if isinstance(listed, list) else []


def _scalar(raw: str) -> str:
    raw = raw.strip()
    if raw.startswith('"'):
        try:
            text, _end = json.JSONDecoder().raw_decode(raw)
            return str(text)
        except ValueError:
            return raw.strip('"')
    if raw.startswith("'"):
        return raw[1:].partition("'")[0]
    return _COMMENT.sub("", raw).strip()
