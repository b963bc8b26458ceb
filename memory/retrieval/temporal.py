"""When a question speaks of: "yesterday", "la semana pasada", "next Thursday", as a span."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from memory.calendar.resolve import When, resolve
from memory.calendar.spans import week
from memory.calendar.words import MONTHS, WEEKDAYS
from memory.text import normalise as text

MOST_CUES = 3
# "Two weeks ago" is not one day: the longer the unit, the vaguer.
DAYS_AROUND = {"week": 4, "month": 15, "year": 183}


@dataclass(frozen=True)
class Cue:
    """The words that were understood and the time they mean; the end is not part of it."""

    phrase: str
    start: datetime
    end: datetime

    def distance(self, start: datetime, end: datetime) -> float:
        """Days between this time and another span; 0 when they meet."""
        apart = max(self.start - end, start - self.end, timedelta(0))
        return apart.total_seconds() / 86400


def cues(question: str, *, now: datetime, zone: tzinfo = UTC) -> list[Cue]:
    """Return every time that is spoken of, in the space's own days; none when there is no cue."""
    said_at = now.astimezone(zone)
    language = text.detect_language(question)
    # A memory is asked about what was, unless the verb or the words look ahead.
    times = resolve(question[:2000], said_at=said_at, language=language, lean="past")
    return [
        _cue(question[when.start : when.end], _days(when, said_at.date()), zone)
        for when in times
        if when.first and when.dated
    ][:MOST_CUES]


def _cue(phrase: str, days: tuple[date, date], zone: tzinfo) -> Cue:
    first, last = days
    start, end = (
        datetime.combine(day, time(), zone).astimezone(UTC)
        for day in (first, last + timedelta(days=1))
    )
    return Cue(phrase, start, end)


def _days(when: When, today: date) -> tuple[date, date]:
    """Return the first and the last day to look at: often more than the words say exactly."""
    if when.kind == "from" and when.first <= today:
        return when.first, max(when.last, today)
    if when.first == when.last:
        around = timedelta(days=DAYS_AROUND.get(when.precision, 0))
        return when.first - around, when.last + around
    if when.precision == "week" and (when.first, when.last) == week(today - timedelta(days=7)):
        # Seed 002: "last week" is the last seven days.
        return today - timedelta(days=7), today
    return when.first, when.last


_ASKS_WHEN = re.compile(
    r"\b(when|what (day|date|year|month|time)|which (day|date|year|month)|how long|since when"
    r"|cuando|que (dia|fecha|ano|mes|hora)|en que (ano|mes|fecha)|desde cuando|cuanto tiempo)\b"
)
_SAYS_WHEN = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|ago|last|next|week|weekend|month|year|day|morning"
    r"|evening|night|recently|just|birthday|anniversary|ayer|hoy|manana|hace|pasad[oa]|proxim[oa]"
    r"|semana|mes|ano|dia|anoche|noche|tarde|recien|cumpleanos|aniversario|\d{1,4}(st|nd|rd|th)?"
    r"|" + "|".join([*(m for m in MONTHS if m != "may"), *WEEKDAYS]) + r")\b"
)


def asks_when(question: str) -> bool:
    return bool(_ASKS_WHEN.search(text.fold(question[:500])))


def says_when(memory: str) -> bool:
    """Whether a memory holds a time that could answer such a question."""
    return bool(_SAYS_WHEN.search(text.fold(memory[:2000])))
