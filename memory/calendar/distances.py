"""How long, how often and at what hour: "two years ago", "los lunes", "a las siete y media"."""

import re
from datetime import time
from functools import partial
from typing import Any

from memory.calendar import spans
from memory.calendar.spans import HABITUAL, Moment, Reading
from memory.calendar.words import UNITS, number, preceded, reads

ONE = ("a", "an", "one", "un", "una")


def _amount(hit: re.Match) -> tuple[int, str, bool]:
    """Return amount, unit and whether half a unit is added."""
    groups = hit.groupdict()
    if groups.get("halved"):
        return 6, "month", False
    if groups.get("bare"):
        return 1, UNITS[groups["bare"]], True
    half = bool(groups.get("half") or groups.get("half_n"))
    return number(groups["n"]), UNITS[groups["unit"]], half


def _point(hit: re.Match, moment: Moment, sign: int, **more: Any) -> Reading:
    """Read a point in the past (sign -1) or future: one day, as precise as its unit."""
    amount, unit, half = _amount(hit)
    day = spans.add(moment.today, sign * amount, unit)
    if half:
        halves = {"year": (6, "month"), "month": (15, "day"), "week": (3, "day")}
        count, smaller = halves.get(unit, (0, "day"))
        day = spans.add(day, sign * count, smaller)
    precision = {"fortnight": "week", "decade": "year"}.get(unit, unit)
    return Reading(day, day, precision, role="point", **more)


reads("ago")(partial(_point, sign=-1))
reads("since")(partial(_point, sign=-1, kind="from"))
reads("from_now")(partial(_point, sign=1))


@reads("hace")
def _hace(hit: re.Match, moment: Moment) -> Reading | None:
    """ "Vivo aquí hace dos años" began then; "me mudé hace dos años" happened then."""
    return _point(hit, moment, -1, kind="from" if moment.verb == "present" else "")


@reads("hace_que")
def _hace_que(hit: re.Match, moment: Moment) -> Reading:
    return _point(hit, moment, -1, kind="" if moment.is_past else "from")


@reads("ahead")
def _ahead(hit: re.Match, moment: Moment) -> Reading | None:
    """ "I lost five kilos in two weeks" says how long it took, not when."""
    how_long = moment.is_past or re.search(r"\b(?:time|vez|first|primer[oa]?)\s+$", moment.before)
    # Asked of a memory, "how much do they give in a year" wants a rate.
    rate = moment.lean == "past" and moment.verb == "present" and hit.group("n") in ONE
    return None if how_long or rate else _point(hit, moment, 1)


@reads("in_eight")
def _in_eight(hit: re.Match, moment: Moment) -> Reading:
    days = {"ocho": 7, "quince": 14}[hit.group("days")]
    return Reading(*spans.days(spans.add(moment.today, days, "day")))


@reads("for_so_long")
def _for(hit: re.Match, moment: Moment) -> Reading | None:
    """Read how long something has been so; "for a week" of a trip begins nowhere."""
    unit = _amount(hit)[1]
    perfect = preceded(moment, "perfect") or hit.group("now")
    state = unit in ("year", "decade") and moment.verb in ("", "present")
    return _point(hit, moment, -1, kind="from") if perfect or state else None


@reads("lately")
def _lately(hit: re.Match, moment: Moment) -> Reading:
    amount, unit = number(hit.group("n") or "a"), UNITS[hit.group("unit")]
    kind = "from" if hit.group("for") else "during"
    first = spans.add(moment.today, -amount, unit)
    return Reading(first, moment.today, "day", role="span", kind=kind)


@reads("every")
def _every(hit: re.Match, moment: Moment) -> Reading:
    return HABITUAL


@reads("of_each_month")
def _end_of_month(hit: re.Match, moment: Moment) -> Reading | None:
    """ "The end of the month" is a date; "the first Monday of the month" comes every month."""
    vague = re.search(r"\b(?:end|start|fin|finales?|principios?)\b", hit.group())
    each = re.search(r"\b(?:each|every|cada)\b", hit.group())
    return None if vague and not each else HABITUAL


@reads("weekday_list")
def _unless_dated(hit: re.Match, moment: Moment) -> Reading | None:
    """ "Martes y jueves" is a habit, but not in "estuve martes y jueves"."""
    return None if moment.is_past or moment.verb == "future" else HABITUAL


@reads("weekday_range")
def _weekday_range(hit: re.Match, moment: Moment) -> Reading | None:
    working_week = hit.group("a")[:3] in ("mon", "lun") and hit.group("b")[:3] in ("fri", "vie")
    spanish = hit.group("to") == "a"
    if not (working_week or spanish or preceded(moment, "weekday_habit")):
        return None
    return _unless_dated(hit, moment)


_LATE = {"tarde", "noche", "afternoon", "evening", "night"}
# "At 5" is in the afternoon for most of what people arrange; "at 7" may be either.
FIRST_MORNING_HOUR = 7


def _hour(hit: re.Match, role: str, moment: Moment) -> Reading | None:
    groups = hit.groupdict()
    hour = 1 if groups["h"] == "una" else number(groups["h"])
    minute = int(groups.get("m") or {"media": 30, "cuarto": 15}.get(groups.get("half") or "", 0))
    part = (groups.get("part") or "").replace(".", "")
    guessed = not part and 1 <= hour <= 12 and not groups["h"].startswith("0")
    if part == "pm" or part in _LATE:
        hour = hour % 12 + 12 if hour <= 12 else hour
    elif part == "am" and hour == 12:
        hour = 0
    elif guessed and hour < FIRST_MORNING_HOUR:
        hour += 12
    if hour > 23:
        return None
    if moment.habit and role == "clock":
        return HABITUAL
    return Reading(moment.today, moment.today, role=role, time=time(hour, minute), guessed=guessed)


@reads("clock")
def _sure(hit: re.Match, moment: Moment) -> Reading | None:
    return _hour(hit, "clock", moment)


@reads("bare_hour")
def _weak(hit: re.Match, moment: Moment) -> Reading | None:
    """Read an hour that only counts beside a date: a bare "8.15" may be anything."""
    return _hour(hit, "weak clock", moment)


@reads("meridiem")
def _meridiem(hit: re.Match, moment: Moment) -> Reading | None:
    return (_sure if re.match(r"at|by|around|a\s|@", hit.group()) else _weak)(hit, moment)


@reads("hour_es")
def _hour_es(hit: re.Match, moment: Moment) -> Reading | None:
    """Need a date beside a number in words, which may count people ("a las dos les gusta")."""
    digits = hit.group("h").isdigit() and not hit.group().startswith("tipo")
    sure = digits or hit.group("half") or hit.group("part")
    return (_sure if sure else _weak)(hit, moment)


@reads("hour_en")
def _hour_en(hit: re.Match, moment: Moment) -> Reading | None:
    sure = hit.group("part") or "clock" in hit.group()
    return (_sure if sure else _weak)(hit, moment)


@reads("noon")
def _noon(hit: re.Match, moment: Moment) -> Reading:
    role = "clock" if hit.group().startswith("a") else "weak clock"
    return Reading(moment.today, moment.today, role=role, time=time(12))
