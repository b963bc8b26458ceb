"""Which times a text speaks of, as days seen from the moment it was said."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from memory.calendar import (
    clock,
    days,
    distances,
    parts,
    periods,
    recurring,
    spans,
    weekdays,
    words,
)
from memory.calendar.folded import Folded, fold
from memory.calendar.join import Piece, join
from memory.calendar.reading import Moment, Reading
from memory.calendar.tense import tense_at
from memory.calendar.words import any_of

# What is longer is a document: the first pages say enough, and every letter costs time.
MAX_LENGTH = 8000
CONTEXT = 60
IMPOSSIBLE = Reading(None, None, role="impossible")
# Earlier rules take their words from later ones: "every Friday" is not also "Friday".
RULES = [
    *recurring.RULES,
    *days.RULES,
    *distances.RULES,
    *parts.RANKED,
    *weekdays.RELATIVE,
    *periods.RULES,
    *parts.VAGUE,
    *weekdays.BARE,
    *clock.RULES,
    *weekdays.PARTS_OF_DAY,
]
# Most messages name no time at all: without one of these no rule is tried.
_NAMES_TIME = re.compile(rf"\d|\b{any_of(words.TIME_WORDS)}(?:e?s)?\b")
_HABIT = re.compile(
    r"\b(?:always|siempre(?!\s+que)|usually|normally|normalmente|suel[oe]n?|solemos)\b[^.!?;\n]*$"
)


@dataclass(frozen=True)
class When:
    """One expression of time in a text.

    `start` and `end` are its place in the text. `kind` is "on" (a day or a longer time that is
    named), "from" (it begins then), "until" (it ends then), "during" (a span with two ends) or
    "every" (it comes again and again: `first` and `last` are None). `first` and `last` are days and
    both belong to it. `precision` is day, week, month, season or year: "in two weeks" is one day,
    known to the week. `tense` says where the days lie seen from the moment it was said. `dated` is
    False for a bare hour ("a las 17:00"), which is taken as one of the same day.
    """

    start: int
    end: int
    kind: str
    first: date | None
    last: date | None
    time: time | None
    tense: str
    precision: str
    dated: bool = True


def resolve(text: str, *, said_at: datetime, language: str, lean: str = "future") -> list[When]:
    """Return every expression of time in the text, in its order.

    `said_at` must carry the time zone in which its day counts. `lean` decides where a date without
    a year lies when no verb says so: statements look ahead, questions to a memory look back.
    """
    folded = fold(text[:MAX_LENGTH])
    if not _NAMES_TIME.search(folded.plain):
        return []
    today = said_at.date()
    moment = Moment(
        today,
        lean=lean,
        language=language,
        south=str(said_at.tzinfo).startswith(spans.SOUTH),
    )
    pieces = join(sorted(_pieces(folded, moment), key=lambda piece: piece.start), folded.plain)
    return [_when(piece, folded, today) for piece in pieces]


def _pieces(folded: Folded, moment: Moment) -> Iterator[Piece]:
    free = folded.plain
    for pattern, read in RULES:
        for hit in list(pattern.finditer(free)):
            try:
                reading = read(hit, _around(folded, hit, moment))
            except (ValueError, OverflowError):
                reading = IMPOSSIBLE  # "February 31", "900 decades ago": not "February" either
            if reading:
                free = free[: hit.start()] + "\0" * (hit.end() - hit.start()) + free[hit.end() :]
            if reading and reading is not IMPOSSIBLE:
                yield Piece(hit.start(), hit.end(), reading)


def _around(folded: Folded, hit: re.Match, moment: Moment) -> Moment:
    start, end = hit.span()
    before = folded.plain[max(0, start - CONTEXT) : start]
    verb = tense_at(folded.without_names, folded.plain, start, end, language=moment.language)
    left, right = folded.source(start, end)
    return replace(
        moment,
        verb=verb,
        habit=bool(_HABIT.search(before)),
        before=before,
        after=folded.plain[end : end + CONTEXT],
        written=folded.original[left:right],
    )


def _when(piece: Piece, folded: Folded, today: date) -> When:
    reading = piece.reading
    start, end = folded.source(piece.start, piece.end)
    tense = _tense(reading, today)
    # "A photo from 2019" does not begin then.
    origin = tense == "past" and folded.plain.startswith("from ", piece.start)
    return When(
        start,
        end,
        kind="on" if origin and reading.kind == "from" else reading.kind or "on",
        first=reading.first,
        last=reading.last,
        time=reading.time,
        tense=tense,
        precision=reading.precision,
        dated=reading.role != "clock",
    )


def _tense(reading: Reading, today: date) -> str:
    if reading.last and reading.last < today:
        return "past"
    return "future" if reading.first and reading.first > today else "present"
