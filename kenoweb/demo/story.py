"""The story that the demo tells, read from its file."""

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from memory.extraction import tags

ZONE = "America/Mexico_City"
STORY = Path(__file__).with_name("story.txt")
OWNER = "!"
_LINE = re.compile(r"^(?:-(\d+) (\d\d):(\d\d)|~(\d+)) (?:(!) (\w+)|(\w+) ([^:]+):) ?(.*)$")


@dataclass(frozen=True)
class Line:
    """Something said in a chat, or, where the chat is "!", done by the owner."""

    at: dt.datetime
    # How many days before today its night was; what is told in minutes has none yet.
    day: int
    chat: str
    who: str
    text: str

    def without_tags(self) -> "Line":
        """The same without what a model would have written to memory."""
        return replace(self, text=tags.split(self.text).text)


def read(told: str, *, now: dt.datetime) -> Iterator[Line]:
    """The lines with their times: so many days before `now`, or so many minutes."""
    local = now.astimezone(ZoneInfo(ZONE))
    for row in told.splitlines():
        if match := _LINE.match(row):
            day, hour, minute, minutes, owner, verb, chat, who, text = match.groups()
            if minutes:
                at = now - dt.timedelta(minutes=int(minutes))
            else:
                date, time = local.date() - dt.timedelta(int(day)), dt.time(int(hour), int(minute))
                at = dt.datetime.combine(date, time, tzinfo=local.tzinfo)
            yield Line(at, int(day or 0), owner or chat, verb or who, text)
