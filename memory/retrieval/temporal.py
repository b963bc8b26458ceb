"""When a question speaks of: "yesterday", "la semana pasada", "on March 3", as a span of time."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from memory import text
from memory.retrieval.calendar_words import (
    AGO,
    DAY_FIRST,
    DAYS,
    IN_MONTH,
    IN_YEAR,
    ISO,
    MONTH_AND_YEAR,
    MONTH_FIRST,
    MONTHS,
    NAMED,
    NUMBERS,
    RECENT,
    UNIT_DAYS,
    WEEKDAY,
)

Span = tuple[date, date]


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


def cues(said: str, *, now: datetime, zone: str = "UTC") -> list[Cue]:
    """Every time that is spoken of, in the space's own days; none when there is no cue."""
    place = ZoneInfo(zone)
    today = now.astimezone(place).date()
    found, free = [], text.fold(said[:2000])
    for pattern, read in RULES:
        for hit in list(pattern.finditer(free)):
            span = _read(read, hit, today)
            if span:
                found.append(_cue(hit.group().strip(), span, place))
                # Each word counts once: "3 march 2024" is not also "in 2024".
                free = free[: hit.start()] + " " * len(hit.group()) + free[hit.end() :]
    return found[:3]


def _read(read: Callable[..., Span | None], hit: re.Match, today: date) -> Span | None:
    try:
        return read(hit, today)
    except (ValueError, OverflowError):
        return None  # "February 31", "900000 years ago"


def _cue(phrase: str, span: Span, place: ZoneInfo) -> Cue:
    start, end = (datetime.combine(day, time(), place).astimezone(UTC) for day in span)
    return Cue(phrase, start, end)


def _day(day: date) -> Span:
    return day, day + timedelta(days=1)


def _month(year: int, month: int) -> Span:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _named(hit: re.Match, today: date) -> Span:
    first, last = NAMED[re.sub(r"\s+", " ", hit.group(1))](today)
    return first, last


def _ago(hit: re.Match, today: date) -> Span:
    many = NUMBERS.get(hit.group("n")) or int(hit.group("n"))
    days = UNIT_DAYS[hit.group("unit")[:2]]
    middle = today - timedelta(days=round(many * days))
    # "Two weeks ago" is not one day: the further, the vaguer.
    give = 0 if days == 1 else max(2, round(days / 2))
    return middle - timedelta(days=give), middle + timedelta(days=give + 1)


def _recent(hit: re.Match, today: date) -> Span:
    many = NUMBERS.get(hit.group("n") or "one") or int(hit.group("n"))
    return today - timedelta(days=round(many * UNIT_DAYS[hit.group("unit")[:2]])), _day(today)[1]


def _weekday(hit: re.Match, today: date) -> Span:
    back = (today.weekday() - DAYS[hit.group("day")[:3]]) % 7 or 7
    return _day(today - timedelta(days=back))


def _day_of_month(hit: re.Match, today: date) -> Span:
    day, month = int(hit.group("d")), MONTHS[hit.group("m")[:3]]
    return _day(_past(lambda year: date(year, month, day), hit.group("y"), today))


def _in_month(hit: re.Match, today: date) -> Span:
    month = MONTHS[hit.group("m")[:3]]
    return _month(_past(lambda year: date(year, month, 1), hit.group("y"), today).year, month)


def _past(make: Callable[[int], date], year: str | None, today: date) -> date:
    """The date in the year that was said, or the last time it came round."""
    if year:
        return make(int(year))
    return make(today.year) if make(today.year) <= today else make(today.year - 1)


def _in_year(hit: re.Match, today: date) -> Span:
    year = int(hit.group("y"))
    return date(year, 1, 1), date(year + 1, 1, 1)


def _iso(hit: re.Match, today: date) -> Span:
    year, month, day = hit.group("y", "m", "d")
    return _day(date(int(year), int(month), int(day))) if day else _month(int(year), int(month))


RULES: list[tuple[re.Pattern, Callable[[re.Match, date], Span | None]]] = [
    (ISO, _iso),
    (DAY_FIRST, _day_of_month),
    (MONTH_FIRST, _day_of_month),
    (MONTH_AND_YEAR, _in_month),
    (IN_MONTH, _in_month),
    (AGO["en"], _ago),
    (AGO["es"], _ago),
    (re.compile(r"\b(" + "|".join(sorted(NAMED, key=len, reverse=True)) + r")\b"), _named),
    (RECENT, _recent),
    (WEEKDAY, _weekday),
    (IN_YEAR, _in_year),
]

_ASKS_WHEN = re.compile(
    r"\b(when|what (day|date|year|month|time)|which (day|date|year|month)|how long|since when"
    r"|cuando|que (dia|fecha|ano|mes|hora)|en que (ano|mes|fecha)|desde cuando|cuanto tiempo)\b"
)
_SAYS_WHEN = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|ago|last|next|week|weekend|month|year|day|morning"
    r"|evening|night|recently|just|birthday|anniversary|ayer|hoy|manana|hace|pasad[oa]|proxim[oa]"
    r"|semana|mes|ano|dia|anoche|noche|tarde|recien|cumpleanos|aniversario|\d{1,4}(st|nd|rd|th)?"
    r"|" + "|".join([*(m for m in MONTHS if len(m) > 3), *(d for d in DAYS if len(d) > 3)]) + r")\b"
)


def asks_when(said: str) -> bool:
    return bool(_ASKS_WHEN.search(text.fold(said[:500])))


def says_when(said: str) -> bool:
    """Whether a memory holds a time that could answer such a question."""
    return bool(_SAYS_WHEN.search(text.fold(said[:2000])))
