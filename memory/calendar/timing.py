"""Read from the words of a fact when it holds or happens."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, time, tzinfo

from memory.calendar.resolve import When, resolve
from memory.calendar.words import FORMS, MONTH, MONTHS, month_number

__all__ = ["Timing", "When", "happens_until", "resolve", "times_of", "when_of", "with_month"]

# What happens once has a moment; everything else holds from then until then.
HAPPENING = {"plan", "event"}
ENDED = "past"
_LOOKS_BACK = {"event", "past"}
_BARE_DAY = re.compile(r"\b(?:the \d{1,2}(?:st|nd|rd|th)|el (?:día )?\d{1,2})(?=[.!]*$)", re.I)
_DATED = re.compile(
    rf"\b(?:({MONTH}),? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?|\d{{1,2}}\w* (?:of |de )?({MONTH}))\b",
    re.I,
)


@dataclass(frozen=True)
class Timing:
    """The times of one fact, each None when its words do not say it.

    `precision` (day, week, month, season, year) is how exactly it is known, `words` what was said.
    """

    valid_from: datetime | None = None
    valid_to: datetime | None = None
    occurs_at: datetime | None = None
    precision: str = ""
    words: str = ""


def times_of(
    words: str, *, said_at: datetime, zone: tzinfo, language: str, kind: str
) -> dict[str, datetime | None]:
    """Return valid_from, valid_to and occurs_at of a fact heard in these words at that moment.

    What begins only later is a plan: known today, and to be asked about when its day has passed.
    What is over ("quit in 2015") has been so since it ended.
    """
    timing = when_of(words, said_at=said_at.astimezone(zone), language=language, kind=kind)
    begin, end, moment = timing.valid_from, timing.valid_to, timing.occurs_at
    if kind == ENDED:
        begin, end = end, None
    if begin and begin > said_at:
        begin, moment = None, moment or begin
    if begin is None and not (end and end < said_at):
        begin = said_at
    until = happens_until(words, said_at=said_at, zone=zone, language=language) if moment else None
    until = until if until and moment and until > max(moment, said_at) else None
    return {"valid_from": begin, "valid_to": end, "occurs_at": moment, "occurs_until": until}


def with_month(text: str, *, before: str, language: str) -> str:
    """Return the words with the month that an earlier wording has and this leaves out.

    "Mum's birthday is the 19th", where it was the 12th of March, is the 19th of March.
    """
    day = _BARE_DAY.search(text)
    named = _DATED.search(before)
    if not day or not named or _DATED.search(text):
        return text
    number = month_number((named[1] or named[2]).lower())
    english, spanish = [word for word, month in MONTHS.items() if month == number][:2]
    month = f"de {spanish}" if language == "es" else f"of {english.title()}"
    return f"{text[: day.end()]} {month}{text[day.end() :]}"


def happens_until(words: str, *, said_at: datetime, zone: tzinfo, language: str) -> datetime | None:
    """Return when the plan in these words is over: "next month" has its last day."""
    reader = _Reader(said_at.astimezone(zone))
    times = resolve(words, said_at=reader.said_at, language=language, lean="future")
    ahead = [when for when in times if when.kind != "every" and when.tense != "past"]
    last = max(ahead, key=lambda when: when.last, default=None)
    return last and datetime.combine(last.last, time.max, reader.said_at.tzinfo)


@dataclass
class _Reader:
    said_at: datetime
    used: list[When] = field(default_factory=list)

    def begin(self, when: When | None) -> datetime | None:
        return self._at(when, when.first, when.time or time.min) if when else None

    def end(self, when: When | None) -> datetime | None:
        return self._at(when, when.last, when.time or time.max) if when else None

    def _at(self, when: When, day: date, hour: time) -> datetime:
        self.used.append(when)
        return datetime.combine(day, hour, self.said_at.tzinfo)


def when_of(text: str, *, said_at: datetime, language: str, kind: str) -> Timing:
    """Return when the fact in these words holds, or when it happens (`occurs_at`).

    `kind` is the listener's: a plan or an event happens, what is past ended then, and everything
    else begins with "since" and ends with "until". `said_at` carries the space's time zone.
    """
    lean = "past" if kind in _LOOKS_BACK else "future"
    times = resolve(text, said_at=said_at, language=language, lean=lean)
    times = [when for when in times if when.kind != "every"]
    reader = _Reader(said_at)
    if kind in HAPPENING:
        values = _happening(times, reader, kind)
    else:
        values = _ended(times, reader) if kind == ENDED else _holding(times, reader)
        if not any(values.values()) and kind != ENDED and _looks_ahead(text, language):
            ahead = [when for when in times if when.tense == "future"]
            values = _happening(ahead, reader, "plan")
    return Timing(**values, **_how(reader.used, text)) if reader.used else Timing()


def _looks_ahead(text: str, language: str) -> bool:
    """Tell whether a verb says that it is still to come: "she is moving in"."""
    forms = FORMS.get(language) or FORMS["en"] + FORMS["es"]
    return any(tense == "future" and form.search(text.lower()) for tense, form in forms)


def _happening(times: list[When], reader: _Reader, kind: str) -> dict:
    """Return the first time that lies ahead for a plan, or behind for an event."""
    moments = _of(times, "on", "during") or _of(times, "from")
    unfit = "past" if kind == "plan" else "future"
    fitting = [when for when in moments if when.tense != unfit] or moments
    # What has happened stays true; only a plan runs out ("staying with her until Friday").
    until = _first(times, "until") if kind == "plan" else None
    begin = reader.begin(fitting[0] if fitting else None)
    return {"occurs_at": begin, "valid_to": reader.end(until)}


def _ended(times: list[When], reader: _Reader) -> dict:
    """Take any time that is named as the end: "quit in 2015", "since May"."""
    span = _first(times, "during")
    end = reader.end(_first(times, "until") or span or _first(times, "on", "from"))
    # "I stopped in March", said in March: it is over.
    return {"valid_from": reader.begin(span), "valid_to": end and min(end, reader.said_at)}


def _holding(times: list[When], reader: _Reader) -> dict:
    today = reader.said_at.date()
    span = _first(times, "during")
    begin = reader.begin(_first(times, "from") or span)
    # "In the last two years" reaches to today and goes on.
    closed = span if span and span.last != today else None
    end = reader.end(_first(times, "until") or closed)
    return {"valid_from": None if begin and end and end < begin else begin, "valid_to": end}


def _of(times: Iterable[When], *kinds: str) -> list[When]:
    return [when for when in times if when.kind in kinds]


def _first(times: list[When], *kinds: str) -> When | None:
    return next(iter(_of(times, *kinds)), None)


def _how(used: list[When], text: str) -> dict:
    """Return the words in their order, and the precision of the first time."""
    places = sorted({(when.start, when.end) for when in used})
    return {
        "precision": used[0].precision,
        "words": " ".join(text[start:end] for start, end in places),
    }
