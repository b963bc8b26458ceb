"""Clanker's daily journal: one line for each message it heard, when the database is lost."""

import hashlib
import re
from collections.abc import Iterator

from memory.transfer.items import Found, MessageItem, Place
from memory.transfer.json_reading import a_time
from memory.transfer.keys import chat_key

TITLE = "# Daily Memory Log"
_ENTRY = re.compile(
    r"-\s+(?P<at>\S+)\s+\|\s+(?P<author>.*?)\s+\((?P<id>[^()]*)\)\s+\|\s+"
    r"(?:\[(?P<scope>[^\]]*)\]\s*)?(?P<text>.*)$"
)
_SCOPE = re.compile(r"(guild|channel):(\S+)")


def is_journal(words: str) -> bool:
    return words.lstrip().startswith(TITLE)


def read(words: str, *, place: Place, guild: str, covered: set[str]) -> Iterator[Found]:
    """`covered` are the chats whose messages came from the database already."""
    for number, line in enumerate(words.split("\n"), 1):
        if not line.strip():
            continue
        entry = _ENTRY.match(line)
        if not entry:
            yield place.left("heading", line=number, text=line.strip())
            continue
        scope = dict(_SCOPE.findall(entry["scope"] or ""))
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
                at=a_time(entry["at"]) or place.modified,
                role="user",
                author=entry["author"],
                author_id=entry["id"],
                text=entry["text"].strip(),
                external_id="journal-" + hashlib.sha256(line.encode()).hexdigest()[:32],
            )
