"""Days by number and by name: "3 May 2027", "5/3/2027", "the 18th", "el viernes que viene"."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from memory.calendar import spans
from memory.calendar.spans import Moment, Reading, Span, existing
from memory.calendar.words import (
    DAYS_AWAY,
    followed,
    month_number,
    number,
    preceded,
    reads,
    weekday_number,
)

HALF_A_YEAR = timedelta(days=190)
_SPANISH_DAYS = set("lunes martes miercoles jueves juevez viernes vierns sabado domingo".split())


def _year(hit: re.Match) -> int | None:
    digits = hit.group("y") or hit.group("yy")
    return _full_year(digits) if digits else None


def _full_year(digits: str) -> int:
    value = int(digits)
    return value if value > 99 else value + (1900 if value >= 50 else 2000)


def dated(make: Callable[[int], Span], year: int | None, moment: Moment, **more: Any) -> Reading:
    """Read what comes every year, in the year that was said or else the one the tense asks for."""
    moment = _decided(moment, exact=more.get("precision", "day") == "day")
    span = make(year) if year else moment.yearly(make)
    return Reading(*span, in_year=None if year else make, **more)


def _decided(moment: Moment, *, exact: bool) -> Moment:
    """Take a form of two tenses as one: "nos casamos el 6 de mayo" announces, "en mayo" tells."""
    verb = "future" if exact else "past"
    return replace(moment, verb=verb) if moment.verb == "either" else moment


@reads("day_of_month")
def _day(hit: re.Match, moment: Moment) -> Reading | None:
    groups, month = hit.groupdict(), hit.group("m")
    verb = month in ("may", "march") and hit.group().startswith(month)
    if groups["word"] and verb and not moment.capitalised(month):
        return None  # "I may second that"
    month, day = month_number(month), number(groups["d"] or groups["word"])
    return dated(lambda year: spans.days(date(year, month, day)), _year(hit), moment)


@reads("days_of_month")
def _day_range(hit: re.Match, moment: Moment) -> Reading:
    month = month_number(hit.group("m"))
    first, last = number(hit.group("d")), number(hit.group("e"))

    def make(year: int) -> Span:
        end = date(year, month, last)
        return (date(year, month, first) if first <= last else _before(end, first)), end

    return dated(make, _year(hit), moment, kind="during", role="span")


def _before(end: date, day: int) -> date:
    """Return the same day number in the month before: "del 28 al 3 de enero"."""
    return spans.add_months(end, -1).replace(day=day)


@reads("iso_date")
def _iso(hit: re.Match, moment: Moment) -> Reading:
    return Reading(*spans.days(date(*(int(hit.group(name)) for name in "ymd"))))


@reads("numbered_month")
def _month_of_year(hit: re.Match, moment: Moment) -> Reading:
    return Reading(*spans.month(int(hit.group("y")), int(hit.group("m"))), "month", role="month")


@reads("numeric_date")
def _numeric(hit: re.Match, moment: Moment) -> Reading | None:
    year = hit.group("y")
    is_version = re.search(r"\bv(?:er\w*)?\.?\s*$", moment.before)
    if is_version or (hit.group("sep") != "/" and len(year) == 2):
        return None
    day, month = _ordered(hit, moment)
    return Reading(*spans.days(date(_full_year(year), month, day)))


@reads("slash_date")
def _short_numeric(hit: re.Match, moment: Moment) -> Reading | None:
    """Read "3/5" only where a day may stand: 7/10 is mostly a mark, 1/2 a half, 24/7 a habit."""
    if not (preceded(moment, "before_slash_date") and followed(moment, "after_slash_date")):
        return None
    day, month = _ordered(hit, moment)
    if hit.group() == "24/7":
        return None
    return dated(lambda year: spans.days(date(year, month, day)), None, moment)


@reads("day_and_month_number")
def _day_and_month_number(hit: re.Match, moment: Moment) -> Reading:
    day, month = int(hit.group("a")), int(hit.group("b"))
    return dated(lambda year: spans.days(date(year, month, day)), None, moment)


def _ordered(hit: re.Match, moment: Moment) -> tuple[int, int]:
    first, second = int(hit.group("a")), int(hit.group("b"))
    day_first = first > 12 or (moment.language != "en" and second <= 12)
    return (first, second) if day_first else (second, first)


def _monthly(day: int, moment: Moment) -> Reading:
    """Read a day without its month: the last one or the next one that has such a day."""

    def make(shift: int) -> Span:
        first = spans.add_months(moment.today.replace(day=1), shift)
        return spans.days(first.replace(day=day))

    moment = _decided(moment, exact=True)
    return Reading(
        *moment.choose(existing(make, range(-3, 4))),
        role="monthday",
        in_month=lambda month: spans.days(month[0].replace(day=day)),
    )


@reads("nth_day")
def _nth(hit: re.Match, moment: Moment) -> Reading | None:
    named = hit.group().startswith("the") or preceded(moment, "before_nth_day")
    words = hit.group("d") or hit.group("word") or hit.group("word2")
    return _monthly(number(words), moment) if named else None


@reads("el_number")
def _el_number(hit: re.Match, moment: Moment) -> Reading | None:
    if preceded(moment, "not_a_day") and not hit.group("dia"):
        return None
    return _monthly(int(hit.group("d")), moment)


@reads("weekday_and_number")
def _weekday_and_number(hit: re.Match, moment: Moment) -> Reading | None:
    """Read "viernes 13": the nearest day of that number that falls on that weekday."""
    if hit.group("w") not in _SPANISH_DAYS and not hit.group("th"):
        return None  # "Friday 8" is rather an hour
    day, weekday = int(hit.group("d")), weekday_number(hit.group("w"))
    around = (moment.today + timedelta(days=shift) for shift in range(-400, 401))
    fitting = [spans.days(d) for d in around if d.day == day and d.weekday() == weekday]
    near = Reading(*moment.choose(fitting)) if fitting else None
    if near and abs(near.first - moment.today) < HALF_A_YEAR:
        return near
    return _monthly(day, moment)


_PARTS = {
    "morning": r"morning|esta manana|la manan|madrugada|primera|first|temprano",
    "afternoon": r"afternoon|tarde|lunch",
    "night": r"night|nite|noche|evening|ultima",
}


@reads("near_day")
def _near(hit: re.Match, moment: Moment) -> Reading:
    name = re.sub(r"[\s-]+", " ", hit.group("name"))
    day = moment.today + timedelta(days=DAYS_AWAY[name])
    return Reading(*spans.days(day), role="near", part=_part(name))


@reads("manana")
def _manana(hit: re.Match, moment: Moment) -> Reading:
    return Reading(*spans.days(moment.today + timedelta(days=1)), role="near")


@reads("part_of_day")
def _part_of_day(hit: re.Match, moment: Moment) -> Reading:
    return Reading(moment.today, moment.today, role="part of day", part=_part(hit.group()))


def _part(words: str) -> str:
    for part, pattern in _PARTS.items():
        if re.search(pattern, words):
            return part
    return ""


def _next_day(moment: Moment, number: int, *, today_too: bool = False) -> date:
    ahead = (number - moment.today.weekday()) % 7
    return moment.today + timedelta(days=ahead if ahead or today_too else 7)


def _last_day(moment: Moment, number: int) -> date:
    return moment.today - timedelta(days=(moment.today.weekday() - number) % 7 or 7)


def _weekday(day: date) -> Reading:
    return Reading(*spans.days(day), role="weekday")


@reads("turned_weekday")
def _turned(hit: re.Match, moment: Moment) -> Reading | None:
    groups, day = hit.groupdict(), hit.group("day")
    number = weekday_number(day)
    if day in ("sun", "sat") and groups.get("this"):
        return None  # "this sun is killing me"
    if groups.get("last"):
        return _weekday(_last_day(moment, number))
    if groups.get("next"):
        # "Next Friday" is not "this Friday": it lies in the next week.
        following = spans.week(moment.today + timedelta(days=7))
        return _weekday(spans.weekday_in(following, number))
    if groups.get("this") and moment.is_past:
        return _weekday(_last_day(moment, number))
    return _weekday(_next_day(moment, number, today_too=bool(groups.get("this"))))


@reads("plain_weekday")
def _plain(hit: re.Match, moment: Moment) -> Reading | None:
    if preceded(moment, "not_a_weekday") or (
        hit.group().endswith("y") and re.search(r"\ban?\s+$", moment.before)
    ):
        return None
    if moment.before.endswith(" de ") and not re.match(r"\s*(?:a|al|to|-)\s", moment.after):
        return None  # "cara de lunes"
    number = weekday_number(hit.group("day"))
    after, before = _next_day(moment, number), _last_day(moment, number)
    if moment.direction == "nearest":
        nearer = (after - moment.today) <= (moment.today - before)
        return _weekday(after if nearer else before)
    return _weekday(before if moment.direction == "past" else after)


@reads("week_later")
def _week_later(hit: re.Match, moment: Moment) -> Reading:
    number = weekday_number(hit.group("day"))
    return _weekday(_next_day(moment, number) + timedelta(days=7))


@reads("weekend")
def _weekend(hit: re.Match, moment: Moment) -> Reading | None:
    if re.match(r"\s+(?:del?|of)\s+(?:the\s+)?\d", moment.after):
        return None  # "el finde del 21": the number says which
    groups, here = hit.groupdict(), spans.weekend(moment.today)
    last = any(groups.get(name) for name in ("last", "last2", "pax", "pax2"))
    if last or (groups.get("plain") and moment.direction == "past" and here[0] > moment.today):
        here = spans.weekend(moment.today - timedelta(days=7))
    elif groups.get("next") or groups.get("next2"):
        here = spans.weekend(moment.today + timedelta(days=7))
    return Reading(*here, role="weekend")
