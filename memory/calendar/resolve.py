"""Find the times that a text names, as days seen from the moment it was said.

Neighbouring pieces are joined: "Friday" + "3 May" + "at 5pm", "from" + "Monday".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

# The first three register the readers of expressions.
from memory.calendar import days, distances, periods, spans  # noqa: F401
from memory.calendar.spans import NO_DAY, Moment, Reading
from memory.calendar.words import CONTEXTS, READERS, Folded, fold, read_patterns, tense_at


@dataclass(frozen=True)
class Piece:
    start: int
    end: int
    reading: Reading


_NOT_A_RANGE = re.compile(r"\s*(?:and|y)\s")

_DAYS = {"day", "near", "weekday", "monthday", "weekend", "point"}
DATES = _DAYS | {"week", "month", "whole month", "season", "year"}
HOURS = {"clock", "weak clock", "part of day"}
# The words before an expression, by the kind that they make of it.
LEADS = {kind: CONTEXTS[f"lead/{kind or 'plain'}"] for kind in ("from", "until", "on", "")}
ARTICLE = re.compile(r"\b(?:the|el|la|los|las)\s+$")


def join(pieces: list[Piece], text: str) -> list[Piece]:
    """Join pieces that belong together; drop those that mean nothing by themselves."""
    merged: list[Piece] = []
    for piece in pieces:
        while merged:
            both = _merge(merged[-1], piece, text[merged[-1].end : piece.start])
            if not both:
                break
            piece = both
            merged.pop()
        merged.append(piece)
    dates = [piece for piece in merged if piece.reading.role not in ("part", "part of day")]
    dates = _ranges(_same_month(_with_hours(dates, text), text), text)
    return [_with_lead(piece, text) for piece in dates]


def _merge(left: Piece, right: Piece, gap: str) -> Piece | None:
    try:
        reading = _together(left.reading, right.reading, gap)
    except (ValueError, OverflowError):
        return None  # "the 31st of next month", said in March
    return Piece(left.start, right.end, reading) if reading else None


def _together(left: Reading, right: Reading, gap: str) -> Reading | None:
    """Return what two neighbours mean together, or None when they are two expressions."""
    if left.role in HOURS or right.role in HOURS:
        return _at_hour(left, right, gap)
    if left.role == "part":
        fits = right.has_days and CONTEXTS["of_part"].fullmatch(gap)
        return left.narrow(right) if fits and left.narrow else None
    for month, day in ((left, right), (right, left)):
        named = month.role in ("month", "whole month")
        if named and day.in_month and CONTEXTS["month_of"].fullmatch(gap):
            return replace(day, **_ends(day.in_month(month.span)), role="day")
    if not CONTEXTS["of"].fullmatch(gap):
        return None
    if "weekday" in (left.role, right.role) and _same_day(left, right):
        return right if left.role == "weekday" else left
    for week, day in ((left, right), (right, left)):
        if week.role == "week" and day.role == "weekday":
            shift = timedelta(days=day.first.weekday())
            return replace(day, first=week.first + shift, last=week.first + shift)
    if right.role == "year" and left.in_year:
        return replace(left, **_ends(left.in_year(right.first.year)), in_year=None)
    return None


def _same_day(left: Reading, right: Reading) -> bool:
    """Tell whether a weekday and a date are one day; where they differ a full date is right."""
    roles = {left.role, right.role}
    return roles == {"weekday", "day"} or (
        roles in ({"weekday", "monthday"}, {"weekday", "near"}) and left.first == right.first
    )


def _ends(span: spans.Span) -> dict:
    return {"first": span[0], "last": span[1]}


def _at_hour(left: Reading, right: Reading, gap: str) -> Reading | None:
    if not CONTEXTS["clock_gap"].fullmatch(gap) or (left.role == "part of day" and not gap.strip()):
        return None  # "opening night, the ninth of May"
    for day, hour in ((left, right), (right, left)):
        if hour.role not in HOURS or day.role not in _DAYS | {"every"}:
            continue
        # What comes again and again has no moment, so no hour of one either.
        return day if day.kind == "every" else _with_hour(day, hour)
    return None


def _with_hour(day: Reading, hour: Reading) -> Reading:
    """Set the hour; a part of the day ("tonight", "por la tarde") says which half is meant."""
    part, clock = day.part or hour.part, hour if hour.time else day
    at = clock.time
    if at and clock.guessed:
        at = at.replace(hour=_in_part(at.hour % 12, part, otherwise=at.hour))
    return replace(day, time=at, part=part, guessed=clock.guessed)


def _in_part(hour: int, part: str, *, otherwise: int) -> int:
    """Return the hour of 24 for one of 12 in this part of the day."""
    if part == "night":
        return hour + 12 if hour >= 6 else hour
    return {"afternoon": hour + 12, "morning": hour}.get(part, otherwise)


def _with_hours(pieces: list[Piece], text: str) -> list[Piece]:
    """Give an hour that stands apart to the one day of its sentence; else it is today's."""
    dates = [piece for piece in pieces if "clock" not in piece.reading.role]
    for hour in (piece for piece in pieces if piece.reading.role == "clock"):
        near = [piece for piece in dates if _same_sentence(piece, hour, text)]
        single = [piece for piece in near if _is_a_day(piece.reading)]
        if len(single) == 1:
            timed = replace(single[0].reading, time=hour.reading.time)
            dates[dates.index(single[0])] = replace(single[0], reading=timed)
        elif not near:
            dates.append(hour)
    return sorted(dates, key=lambda piece: piece.start)


def _is_a_day(reading: Reading) -> bool:
    return reading.has_days and reading.first == reading.last and reading.time is None


def _same_sentence(left: Piece, right: Piece, text: str) -> bool:
    between = text[min(left.end, right.end) : max(left.start, right.start)]
    return not re.search(r"[.!?;\n]\s", between)


def _same_month(pieces: list[Piece], text: str) -> list[Piece]:
    """Read a bare number after a date as the first such day from then on: "12 April … the 17th"."""
    dates: list[Piece] = []
    for piece in pieces:
        before = dates[-1] if dates else None
        if before and _follows(before, piece, text):
            piece = replace(piece, reading=_from_day(piece.reading, before.reading.first))
        dates.append(piece)
    return dates


def _follows(before: Piece, piece: Piece, text: str) -> bool:
    is_number = before.reading.role in ("day", "monthday") and piece.reading.role == "monthday"
    is_correction = CONTEXTS["instead"].search(text, before.end, piece.start)
    return is_number and _same_sentence(before, piece, text) and not is_correction


def _from_day(reading: Reading, day: date) -> Reading:
    make = reading.in_month or (lambda _month: reading.span)
    for shift in range(3):
        month = spans.add_months(day.replace(day=1), shift)
        try:
            span = make(spans.month(month.year, month.month))
        except ValueError:
            continue
        if span[0] >= day:
            return replace(reading, **_ends(span))
    return reading


def _ranges(pieces: list[Piece], text: str) -> list[Piece]:
    joined: list[Piece] = []
    for piece in pieces:
        span = _range(joined[-1], piece, text) if joined else None
        joined[-1:] = [span] if span else [*joined[-1:], piece]
    return joined


def _range(left: Piece, right: Piece, text: str) -> Piece | None:
    """Return "from Monday to Thursday" as one span; "Monday and Thursday" are two days."""
    gap = text[left.end : right.start]
    a, b = left.reading, right.reading
    if not CONTEXTS["range_to"].fullmatch(gap) or a.kind or b.kind or {a.role, b.role} - DATES:
        return None
    opened = CONTEXTS["range_start"].search(text[: left.start])
    if _NOT_A_RANGE.match(gap) and not (opened and re.search(r"between|entre", opened.group())):
        return None
    try:
        last = _after(a, b)
    except (ValueError, OverflowError):
        return None  # "from the 20th to the 31st", of a month without one
    if not last:
        return None
    start = opened.start() if opened else left.start
    reading = replace(a, last=last, kind="during", role="span", precision=_coarser(a, b))
    return Piece(start, right.end, reading)


def _after(a: Reading, b: Reading) -> date | None:
    """Return the end of a span whose two ends were read apart, moved behind its beginning."""
    if b.last >= a.first:
        return b.last
    if b.role == "weekday":
        return b.last + timedelta(days=7 * (-(-(a.first - b.last).days // 7)))
    if b.in_month:
        following = spans.add_months(a.first, 1)
        return b.in_month(spans.month(following.year, following.month))[1]
    if not b.in_year:
        return None
    same_year = b.in_year(a.first.year)[1]
    return same_year if same_year >= a.first else b.in_year(a.first.year + 1)[1]


def _coarser(a: Reading, b: Reading) -> str:
    order = ("day", "week", "month", "season", "year")
    return max(a.precision, b.precision, key=order.index)


def _with_lead(piece: Piece, text: str) -> Piece:
    """Take the word before into the expression: it says whether something begins or ends then."""
    if piece.reading.kind == "every" or piece.reading.role == "point":
        return piece
    before = text[max(0, piece.start - 40) : piece.start]
    complete = CONTEXTS["complete"].match(text, piece.start)
    for kind, pattern in LEADS.items():
        hit = pattern.search(before)
        if hit and (kind or not complete):
            start = piece.start - len(before) + hit.start()
            kind = piece.reading.kind or kind
            return Piece(start, piece.end, replace(piece.reading, kind=kind))
    hit = ARTICLE.search(before)
    start = piece.start - len(before) + hit.start() if hit else piece.start
    return replace(piece, start=start)


# What is longer is a document: the first pages say enough, and every letter costs time.
MAX_LENGTH = 8000
CONTEXT = 60
IMPOSSIBLE = Reading(NO_DAY, NO_DAY, role="impossible")
EXPRESSIONS = [
    (pattern, READERS[name.partition("/")[0]]) for name, pattern in read_patterns("expressions.txt")
]


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
    if not CONTEXTS["names_time"].search(folded.plain):
        return []
    today = said_at.date()
    south = str(said_at.tzinfo).startswith(spans.SOUTH)
    moment = Moment(today, lean=lean, language=language, south=south)
    pieces = join(sorted(_pieces(folded, moment), key=lambda piece: piece.start), folded.plain)
    return [_when(piece, folded, today) for piece in pieces]


def _pieces(folded: Folded, moment: Moment) -> Iterator[Piece]:
    free = folded.plain
    for pattern, read in EXPRESSIONS:
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
        habit=bool(CONTEXTS["habit"].search(before)),
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
        first=reading.first if reading.has_days else None,
        last=reading.last if reading.has_days else None,
        time=reading.time,
        tense=tense,
        precision=reading.precision,
        dated=reading.role != "clock",
    )


def _tense(reading: Reading, today: date) -> str:
    if reading.last < today:
        return "past"
    return "future" if reading.has_days and reading.first > today else "present"
