"""Days counted: spans of them, what an expression can mean, and what must be known to read it."""

import tomllib
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from datetime import time as time_of_day
from pathlib import Path

Span = tuple[date, date]

# Where the seasons of the south hold: beginnings of the names of time zones.
SOUTH = tuple(
    "America/Argentina America/Asuncion America/Buenos_Aires America/La_Paz America/Lima"
    " America/Montevideo America/Punta_Arenas America/Santiago America/Sao_Paulo"
    " Africa/Johannesburg Australia/ Pacific/Auckland".split()
)


def days(first: date, *, count: int = 1) -> Span:
    return first, first + timedelta(days=count - 1)


def add_months(day: date, months: int) -> date:
    """Move a day by months, to the last of the month where that is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def add(day: date, amount: int, unit: str) -> date:
    """Move a day by an amount of "day", "week", "fortnight", "month", "year" or "decade"."""
    months = {"month": 1, "year": 12, "decade": 120}
    if unit in months:
        return add_months(day, amount * months[unit])
    return day + timedelta(days=amount * {"day": 1, "week": 7, "fortnight": 14}[unit])


def week(day: date) -> Span:
    return days(day - timedelta(days=day.weekday()), count=7)


def weekend(day: date) -> Span:
    """Return the Saturday and Sunday of the day's week."""
    return days(week(day)[0] + timedelta(days=5), count=2)


def month(year: int, number: int) -> Span:
    return date(year, number, 1), date(year, number, monthrange(year, number)[1])


def year(number: int) -> Span:
    return date(number, 1, 1), date(number, 12, 31)


def season(year: int, number: int, *, south: bool = False) -> Span:
    """Return the season (0 spring to 3 winter) that begins in the year, by whole months."""
    begins = (3 + 3 * number + (6 if south else 0) - 1) % 12 + 1
    first = date(year, begins, 1)
    return first, add_months(first, 3) - timedelta(days=1)


def weekday_in(span: Span, number: int) -> date:
    """Return the first such weekday of the span."""
    return span[0] + timedelta(days=(number - span[0].weekday()) % 7)


def nth_week(span: Span, rank: int) -> Span:
    """Return the first, second… (or with -1 the last) seven days of a month."""
    if rank < 0:
        return span[1] - timedelta(days=6), span[1]
    return days(span[0] + timedelta(days=7 * (rank - 1)), count=7)


def nth_weekday(span: Span, rank: int, number: int) -> date:
    if rank < 0:
        return span[1] - timedelta(days=(span[1].weekday() - number) % 7)
    return weekday_in(span, number) + timedelta(days=7 * (rank - 1))


def part(span: Span, name: str) -> Span:
    """Return the "start", "middle" or "end" of a span, by whole months where it has several."""
    months = (span[1].year - span[0].year) * 12 + span[1].month - span[0].month + 1
    if months > 2:
        quarter = max(1, months // 4)
        begins = {"start": 0, "middle": months // 3, "end": months - quarter}[name]
        count = months // 3 if name == "middle" else quarter
        first = add_months(span[0], begins)
        return first, add_months(first, count) - timedelta(days=1)
    third, quarter = (((span[1] - span[0]).days + 1) // share for share in (3, 4))
    if name == "end":
        return span[1] - timedelta(days=max(1, quarter) - 1), span[1]
    first = span[0] + timedelta(days=third if name == "middle" else 0)
    return first, first + timedelta(days=third - 1)


def easter(year: int) -> date:
    """Return Easter Sunday of the Gregorian calendar (the Meeus algorithm)."""
    century, place = divmod(year, 100)
    golden = year % 19
    leaps, rest = divmod(century, 4)
    moon = (19 * golden + century - leaps - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    day = (32 + 2 * rest + 2 * (place // 4) - moon - place % 4) % 7
    shift = (golden + 11 * moon + 22 * day) // 451
    number, rest = divmod(moon + day - 7 * shift + 114, 31)
    return date(year, number, rest + 1)


def thanksgiving(year: int) -> date:
    return nth_weekday(month(year, 11), 4, 3)


def _days_of(rule: str) -> Callable[[int], Span]:
    """Return what gives the days in a year of a rule such as "12-25" or "easter -6 0"."""
    begins, *shifts = rule.split()
    if not shifts:
        number, day = map(int, begins.split("-"))
        return lambda year: days(date(year, number, day))
    first, last = (timedelta(days=int(shift)) for shift in shifts)
    start = {"easter": easter, "thanksgiving": thanksgiving}[begins]
    return lambda year: (start(year) + first, start(year) + last)


# Names -> the days of a year; see the file.
HOLIDAYS, HOLY_DAYS = (
    {name: _days_of(rule) for names, rule in group.items() for name in names.split(", ")}
    for group in tomllib.loads(
        Path(__file__).with_name("holidays.toml").read_text("utf-8")
    ).values()
)
# So many years are tried when none was said: 29 February comes every fourth, seldom every eighth.
YEARS_AROUND = 8


# In place of both days where words mean none: "every week", "end of".
NO_DAY = date.max


@dataclass(frozen=True)
class Reading:
    """The days that an expression means, before it is joined with its neighbours.

    `role` says how: a "weekday" and a "day" side by side are one date, a "part" ("end of") narrows
    what follows, a "clock" gives the hour. `in_year` reads the same words again for a given year
    and `in_month` for a given month; `narrow` is the work of a part.
    """

    first: date
    last: date
    precision: str = "day"
    role: str = "day"
    kind: str = ""
    time: time_of_day | None = None
    # "morning", "afternoon" or "night"; and whether an hour was said without one.
    part: str = ""
    guessed: bool = False
    in_year: Callable[[int], Span] | None = None
    in_month: Callable[[Span], Span] | None = None
    narrow: Callable[["Reading"], "Reading"] | None = None

    @property
    def span(self) -> Span:
        return self.first, self.last

    @property
    def has_days(self) -> bool:
        return self.first != NO_DAY


HABITUAL = Reading(NO_DAY, NO_DAY, kind="every", role="every")


@dataclass(frozen=True)
class Moment:
    """The day something was said, the tense around an expression, and the text on both sides.

    `verb` is the tense of the nearest verb: "past", "perfect" ("has moved"), "present", "future",
    "either" (a form that may be past or present) or "" for none; `lean` is what is taken then.
    `habit` tells of a word like "always" before it.
    """

    today: date
    verb: str = ""
    lean: str = "future"
    language: str = ""
    south: bool = False
    habit: bool = False
    before: str = ""
    after: str = ""
    written: str = ""

    @property
    def direction(self) -> str:
        """Return "past", "future" or "nearest": where to look for a date without a year."""
        directions = {"perfect": "past", "either": "nearest", "present": "future"}
        return directions.get(self.verb, self.verb or self.lean)

    @property
    def is_past(self) -> bool:
        return self.verb in ("past", "perfect")

    def choose(self, spans: list[Span]) -> Span:
        """Return the last span that has begun, the first that has not ended, or the nearest."""
        if self.direction == "past":
            return max(span for span in spans if span[0] <= self.today)
        if self.direction == "future":
            return min(span for span in spans if span[1] >= self.today)
        return min(spans, key=lambda span: (self._apart(span), -span[0].toordinal()))

    def _apart(self, span: Span) -> int:
        return max((span[0] - self.today).days, (self.today - span[1]).days, 0)

    def yearly(self, make: Callable[[int], Span]) -> Span:
        """Return what comes round every year, in the year that the tense asks for."""
        here = self.today.year
        return self.choose(existing(make, range(here - YEARS_AROUND, here + YEARS_AROUND + 1)))

    def capitalised(self, word: str) -> bool:
        """Tell whether the word was written with a capital: "Julio" may be a person."""
        return word.capitalize() in self.written


def existing(make: Callable[[int], Span], numbers: range) -> list[Span]:
    """Leave out what does not exist, such as 29 February of most years."""
    spans = []
    for number in numbers:
        try:
            spans.append(make(number))
        except ValueError:
            continue
    return spans
