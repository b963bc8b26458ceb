"""What one expression of time can mean, and what must be known to read it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from datetime import time as time_of_day

from memory.calendar.spans import Span

# So many years are tried when none was said: 29 February comes every fourth, seldom every eighth.
YEARS_AROUND = 8


@dataclass(frozen=True)
class Reading:
    """The days that some words mean, before they are joined with the words beside them.

    `role` says how: a "weekday" and a "day" side by side are one date, a "part" ("end of") narrows
    what follows, a "clock" gives the hour. `in_year` reads the same words again for a given year
    and `in_month` for a given month; `narrow` is the work of a part.
    """

    first: date | None
    last: date | None
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


HABITUAL = Reading(None, None, kind="every", role="every")


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
        known = {
            "past": "past",
            "perfect": "past",
            "either": "nearest",
            "present": "future",
            "future": "future",
        }
        return known.get(self.verb, self.lean)

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
        """Whether the word was written with a capital: "Julio" in mid sentence is a person."""
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
