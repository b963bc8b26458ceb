"""preferences.md: what the bot learned about how its person wants to be spoken to."""

import re
from collections.abc import Iterator

from memory.transfer.items import Left, Place, PreferenceItem
from memory.transfer.kenobot import escapes
from memory.transfer.kenobot.placeholders import is_placeholder

_HEADING = re.compile(r"#{1,6}(?:\s+(.*))?$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,9}[.)])\s+(.*)$")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}$")
_COMMENT = re.compile(r"\s*<!--.*-->\s*$")


def read(words: str, *, place: Place) -> Iterator[PreferenceItem | Left]:
    section = ""
    for number, line in enumerate(words.split("\n"), 1):
        heading = _HEADING.match(line)
        if heading:
            # The title of the file is no section.
            section = "" if line.startswith("# ") else (heading[1] or "").strip()
            yield place.left("heading", line=number, text=line.strip())
        elif not line.strip():
            continue
        elif _RULE.match(line) or _COMMENT.match(line):
            yield place.left("rule", line=number, text=line.strip())
        else:
            yield _preference(line, number, section, place)


def _preference(line: str, number: int, section: str, place: Place) -> PreferenceItem | Left:
    item = _ITEM.match(line)
    words = (item[1] if item else line).strip()
    if is_placeholder(words):
        return place.left("placeholder", line=number, text=line.strip())
    made = {"text": escapes.read_item(words), "section": section, "at": place.modified}
    return PreferenceItem(**place[number, number], **made)
