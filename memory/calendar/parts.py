"""Parts of a longer time: "end of the month", "a mediados de mayo", "the second week of April"."""

import re
from datetime import timedelta

from memory.calendar import spans
from memory.calendar.periods import unit_span
from memory.calendar.reading import Moment, Reading
from memory.calendar.words import RANKS, UNITS, WEEKDAY, any_of, weekday_number

_RANK = any_of(RANKS)
_PART = (
    r"\b(?:the\s+)?(?P<part>end|start|beginning|middle|back\s+end|first\s+half"
    r"|second\s+half)\s+of\b"
    r"|\b(?P<part2>early|mid|late)(?:\s+in)?(?=[\s-])"
    r"|\b(?P<part3>principios?|comienzos?|inicios?|mediados?|finales?|fines?|final|fin)\s+del?\b"
    r"(?!\s+semana)"
)
PART = re.compile(_PART)
PART_OF_THIS = re.compile(
    rf"(?:{_PART})\s+(?:(?:the|el|la)\s+)?(?P<thing>month|year|week|mes|ano)\b"
)
NTH = re.compile(
    rf"\b(?:the\s+|el\s+|la\s+)?(?P<rank>{_RANK})\s+"
    rf"(?P<what>week(?:end)?|semana|fin\s+de\s+semana|quincena|{WEEKDAY})\s+(?:of|in|del?)\b"
)
_PART_NAMES = {
    **dict.fromkeys(("end", "back end", "late", "second half"), "end"),
    **dict.fromkeys(("final", "finales", "fin", "fines"), "end"),
    **dict.fromkeys(("middle", "mid", "mediado", "mediados"), "middle"),
}


def _part_name(hit: re.Match) -> str:
    words = hit.group("part") or hit.group("part2") or hit.group("part3")
    return _PART_NAMES.get(re.sub(r"\s+", " ", words), "start")


def _part(hit: re.Match, moment: Moment) -> Reading:
    name = _part_name(hit)

    def narrow(whole: Reading) -> Reading:
        finer = {"month": "week", "week": "day", "day": "day"}.get(whole.precision, "month")
        return Reading(*spans.part(whole.span, name), finer)

    return Reading(None, None, role="part", narrow=narrow)


def _part_of_this(hit: re.Match, moment: Moment) -> Reading:
    """Read "end of the month", "a principios de año": the last or the next one by the tense."""
    part, unit = _part(hit, moment), UNITS[hit.group("thing")]
    near = [part.narrow(unit_span(unit, shift, moment)) for shift in (-1, 0, 1)]
    span = moment.choose([reading.span for reading in near])
    return Reading(*span, near[0].precision)


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

    return Reading(None, None, role="part", narrow=narrow)


# "Last Friday of May" is not "last Friday": these are read before the weekdays.
RANKED = [(NTH, _nth)]
VAGUE = [(PART_OF_THIS, _part_of_this), (PART, _part)]
