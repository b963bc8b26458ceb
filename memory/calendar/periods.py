"""Weeks to years and their parts: "el mes que viene", "last autumn", "end of the month"."""

import re
from collections.abc import Callable
from datetime import timedelta

from memory.calendar import spans
from memory.calendar.days import dated
from memory.calendar.spans import HABITUAL, HOLIDAYS, HOLY_DAYS, NO_DAY, Moment, Reading
from memory.calendar.words import (
    MONTHS,
    RANKS,
    SEASONS,
    UNITS,
    followed,
    month_number,
    preceded,
    reads,
    weekday_number,
)

_AMBIGUOUS_MONTHS = {"mar", "sep", "dec", "jun", "jul", "ene"}
_DIRECTION = {"next": 1, "this": 0, "last": -1}


@reads("turned_period")
def _turned(hit: re.Match, moment: Moment) -> Reading | None:
    """Read "next month", "este verano", "el mayo pasado"."""
    groups, thing = hit.groupdict(), hit.group("thing")
    if groups.get("last") and preceded(moment, "own"):
        return None  # "her last year at school"
    shift = next(number for name, number in _DIRECTION.items() if groups.get(name))
    if thing in UNITS:
        return unit_span(UNITS[thing], shift, moment)
    if thing == "may" and groups.get("this") and not moment.capitalised("may"):
        return None  # "this may be wrong"
    return _yearly(thing, shift, moment)


def unit_span(unit: str, shift: int, moment: Moment) -> Reading:
    """Read this week, month or year, or the one so many units away."""
    today = spans.add(moment.today, shift, unit)
    if unit == "week":
        return Reading(*spans.week(today), "week", role="week")
    if unit == "month":
        return Reading(*spans.month(today.year, today.month), "month", role="whole month")
    return Reading(*spans.year(today.year), "year", role="year")


def _maker(thing: str, moment: Moment) -> tuple[Callable[[int], spans.Span], str]:
    """Return what gives the span of a month, season or holiday in a year, and its precision."""
    if thing in MONTHS:
        return (lambda year: spans.month(year, MONTHS[thing])), "month"
    if thing in SEASONS:
        number = SEASONS[thing]
        return (lambda year: spans.season(year, number, south=moment.south)), "season"
    make = (HOLY_DAYS | HOLIDAYS)[_spaced(thing)]
    first, last = make(moment.today.year)
    return make, "day" if first == last else "week"


def _spaced(thing: str) -> str:
    return re.sub(r"[\s-]+", " ", thing)


def _yearly(thing: str, shift: int, moment: Moment) -> Reading:
    make, precision = _maker(thing, moment)
    here = moment.today.year
    near = [make(year) for year in range(here - 2, here + 3)]
    if shift < 0:
        span = max(span for span in near if span[1] < moment.today)
    elif shift > 0:
        span = min(span for span in near if span[0] > moment.today)
    else:
        span = _this(near, moment)
    return Reading(*span, precision, role="day" if precision == "week" else precision)


def _this(near: list[spans.Span], moment: Moment) -> spans.Span:
    """ "This summer" is this year's, unless the verb asks for one that is over or to come."""
    if moment.is_past:
        return max(span for span in near if span[0] <= moment.today)
    if moment.verb == "future":
        return min(span for span in near if span[1] >= moment.today)
    return next(span for span in near if span[1].year >= moment.today.year)


@reads("two_away")
def _two_away(hit: re.Match, moment: Moment) -> Reading:
    return unit_span(UNITS[hit.group("thing")], 2 if hit.group("next") else -2, moment)


@reads("season_of_year")
def _season_of_year(hit: re.Match, moment: Moment) -> Reading:
    make, precision = _maker(hit.group("thing"), moment)
    return Reading(*make(int(hit.group("y"))), precision, role="season")


@reads("bare_season")
def _bare_season(hit: re.Match, moment: Moment) -> Reading | None:
    if not preceded(moment, "before_season") or preceded(moment, "even"):
        return None
    usual = re.search(r"\b(?:in|en)(?:\s+(?:the|el|la))?\s+$", moment.before)
    if moment.habit or (usual and moment.verb == "present"):
        return HABITUAL
    make, precision = _maker(hit.group("thing"), moment)
    return dated(make, None, moment, precision=precision, role="season")


@reads("holiday")
def _holiday(hit: re.Match, moment: Moment) -> Reading | None:
    wished = re.search(r"\b(?:feliz|felices|happy|merry)\s+$", moment.before)
    certain = hit.group("y") or _spaced(hit.group("thing")) in HOLY_DAYS
    if wished or not (certain or preceded(moment, "before_holiday")):
        return None
    if moment.habit:
        return HABITUAL
    make, precision = _maker(hit.group("thing"), moment)
    year = int(hit.group("y")) if hit.group("y") else None
    return dated(make, year, moment, precision=precision)


@reads("month_of_year")
def _month_of_year(hit: re.Match, moment: Moment) -> Reading:
    digits = hit.group("y") or hit.group("yy") or hit.group("yy2") or hit.group("yy3")
    value = int(digits)
    year = value if value > 99 else value + (1900 if value >= 32 else 2000)
    return Reading(*spans.month(year, month_number(hit.group("m"))), "month", role="month")


@reads("bare_month")
def _bare_month(hit: re.Match, moment: Moment) -> Reading | None:
    word = hit.group("m")
    is_date = preceded(moment, "before_month") or followed(moment, "after_month")
    if not is_date or word in _AMBIGUOUS_MONTHS or preceded(moment, "no_month"):
        return None
    is_name = word in ("julio", "abril") and moment.capitalised(word)
    if is_name and moment.before.endswith("de "):
        return None
    if moment.habit:
        return HABITUAL
    number = month_number(word)
    return dated(
        lambda year: spans.month(year, number), None, moment, precision="month", role="month"
    )


@reads("years")
def _years(hit: re.Match, moment: Moment) -> Reading | None:
    first, last = hit.group("a"), hit.group("b")
    end = int(last) if len(last) == 4 else int(first[:2] + last)
    if end < int(first) or (len(last) == 2 and end > int(first) + 30):
        return None
    return Reading(
        spans.year(int(first))[0], spans.year(end)[1], "year", role="span", kind="during"
    )


@reads("bare_year")
def _bare_year(hit: re.Match, moment: Moment) -> Reading | None:
    opening = not moment.before.strip() and re.match(r"\s*(?:$|[,.;!])", moment.after)
    if not (opening or preceded(moment, "before_year")) or followed(moment, "counted"):
        return None
    digits = hit.group("y")
    year = int(digits) if len(digits) == 4 else int(digits) + (1900 if digits > "49" else 2000)
    return Reading(*spans.year(year), "year", role="year")


@reads("year_es")
def _year_es(hit: re.Match, moment: Moment) -> Reading:
    return Reading(*spans.year(1900 + int(hit.group("y"))), "year", role="year")


_PART_NAMES = {
    **dict.fromkeys(("end", "back end", "late", "second half"), "end"),
    **dict.fromkeys(("final", "finales", "fin", "fines"), "end"),
    **dict.fromkeys(("middle", "mid", "mediado", "mediados"), "middle"),
}


def _part_name(hit: re.Match) -> str:
    words = hit.group("part") or hit.group("part2") or hit.group("part3")
    return _PART_NAMES.get(re.sub(r"\s+", " ", words), "start")


@reads("part_of")
def _part(hit: re.Match, moment: Moment) -> Reading:
    return Reading(NO_DAY, NO_DAY, role="part", narrow=_narrower(_part_name(hit)))


def _narrower(name: str) -> Callable[[Reading], Reading]:
    def narrow(whole: Reading) -> Reading:
        finer = {"month": "week", "week": "day", "day": "day"}.get(whole.precision, "month")
        return Reading(*spans.part(whole.span, name), finer)

    return narrow


@reads("part_of_this")
def _part_of_this(hit: re.Match, moment: Moment) -> Reading:
    """Read "end of the month", "a principios de año": the last or the next one by the tense."""
    unit = UNITS[hit.group("thing")]
    narrow = _narrower(_part_name(hit))
    near = [narrow(unit_span(unit, shift, moment)) for shift in (-1, 0, 1)]
    span = moment.choose([reading.span for reading in near])
    return Reading(*span, near[0].precision)


@reads("nth_part")
def _nth(hit: re.Match, moment: Moment) -> Reading:
    rank, what = RANKS[hit.group("rank")], re.sub(r"\s+", " ", hit.group("what"))

    def narrow(whole: Reading) -> Reading:
        if what in ("week", "semana"):
            return Reading(*spans.nth_week(whole.span, rank), "week")
        if what == "quincena":
            middle = whole.first + timedelta(days=14)
            halves = {1: (whole.first, middle), 2: (middle + timedelta(days=1), whole.last)}
            return Reading(*halves[1 if rank == 1 else 2], "week")
        if what in ("weekend", "fin de semana"):
            saturday = spans.nth_weekday(whole.span, rank, 5)
            return Reading(*spans.days(saturday, count=2))
        return Reading(*spans.days(spans.nth_weekday(whole.span, rank, weekday_number(what))))

    return Reading(NO_DAY, NO_DAY, role="part", narrow=narrow)
