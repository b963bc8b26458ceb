"""Weeks to years and their parts: "el mes que viene", "last autumn", "end of the month"."""

import re
from collections.abc import Callable
from datetime import timedelta

from memory.calendar import spans
from memory.calendar.days import dated
from memory.calendar.spans import HABITUAL, HOLIDAYS, HOLY_DAYS, NO_DAY, Moment, Reading
from memory.calendar.words import (
    ANY_MONTH,
    MONTH,
    MONTHS,
    RANKS,
    SEASON,
    SEASONS,
    UNITS,
    WEEKDAY,
    YEAR,
    any_of,
    month_number,
    weekday_number,
)

_HOLIDAY = any_of(HOLIDAYS)
_UNIT = "(?:week|month|year|semana|mes|ano)"
_THING = rf"(?P<thing>{_UNIT}|{SEASON}|{MONTH}|{_HOLIDAY})"

TURNED_EN = re.compile(
    rf"\b(?:(?P<next>next|(?:this|the)\s+coming|upcoming)|(?P<last>last|this\s+past|past)"
    rf"|(?P<this>this))"
    rf"\s+{_THING}\b(?!\s+(?:of|old)\b)"
)
TURNED_ES = re.compile(
    rf"\b(?:(?:est[ea]s?\s+)?(?:(?P<next>proxim[oa]s?|prox)|(?P<last>pasad[oa]s?))"
    rf"|(?P<this>est[ea]s?))\s+{_THING}\b"
)
FOLLOWED_ES = re.compile(
    rf"\b{_THING}\s+"
    r"(?:(?P<next>que\s+viene|que\s+entra|entrante|proxim[oa]s?)|(?P<last>pasad[oa]s?"
    r"|que\s+paso))\b"
)
TWO_AWAY = re.compile(
    r"\b(?:the\s+)?(?P<thing>week|month|year)\s+(?:(?P<next>after\s+next)"
    r"|(?P<last>before\s+last))\b"
)
SEASON_OF_YEAR = re.compile(rf"\b(?P<thing>{SEASON})(?:\s+(?:of|de|del))?\s+(?P<y>{YEAR})\b")
BARE_SEASON = re.compile(rf"\b(?P<thing>{SEASON})\b")
HOLY_DAY = re.compile(
    rf"\b(?P<thing>{any_of(HOLY_DAYS)})(?:\s+(?:of\s+|de\s+|del\s+)?(?P<y>{YEAR}))?\b"
)
BARE_HOLIDAY = re.compile(rf"\b(?P<thing>{_HOLIDAY})(?:\s+(?:of\s+|de\s+|del\s+)?(?P<y>{YEAR}))?\b")
MONTH_OF_YEAR = re.compile(
    rf"\b(?P<m>{ANY_MONTH})\.?,?\s+(?:(?:of\s+|de\s+|del\s+)?(?:ano\s+)?(?P<y>{YEAR})"
    r"|del\s+(?P<yy>\d\d)|'(?P<yy2>\d\d)|(?P<yy3>3[2-9]|[4-9]\d))\b(?![%:]|\s*(?:km|kg|euros))"
)
BARE_MONTH = re.compile(rf"\b(?P<m>{ANY_MONTH})\b")
YEARS = re.compile(rf"(?<![\w-])(?P<a>{YEAR})\s*[-–]\s*(?P<b>{YEAR}|\d\d)(?![\w-])")
BARE_YEAR = re.compile(rf"(?<![\w$€£#:.,/+-])'?(?P<y>{YEAR}|(?<=')\d\d)\b(?![-–:/%$€£]\w?|[.,]\d)")
YEAR_ES = re.compile(
    r"(?:(?<=\ben el )|(?<=\bdesde el )|(?<=\bhasta el ))(?P<y>[4-9]\d)\b"
    r"(?![%:/]|[.,]\d|\s*(?:%|por\s+ciento))"
)

_BEFORE = (
    r"in|during|since|until|till|til|by|before|after|around|over|from|through|throughout|due"
    r"|starting|en|desde|hasta|para|durante|antes\s+de|despues\s+de|a\s+partir\s+de|hacia"
    r"|between|entre"
)
_SMALL = r"(?:\s+(?:about|like|around|the|el|la|las|los|mas\s+o\s+menos))?"
_PARTS = r"(?:end|start|beginning|middle|half)\s+of|early|mid|late|semana\s+del?"
_BEFORE_MONTH = re.compile(
    rf"(?:\b(?:{_BEFORE}|of|for|starts?|begins?|tod[oa]|(?:extended|moved|pushed|postponed"
    rf"|back)\s+to|{_PARTS}|de|del|por|mes\s+de|"
    rf"principios\s+de|{MONTH}(?:\s+(?:to|and|or|y|e|o|a|hasta|until|till|through)|\s*[-–/]))"
    rf"{_SMALL}|\b(?:mid|early|late)-)\s*$"
)
_AFTER_MONTH = re.compile(
    r"\s+(?:next|this|last)\s+year\b|\s+del?\s+(?:este\s+|proximo\s+)?ano\b(?!\s+\d)"
)
_BEFORE_SEASON = re.compile(
    rf"\b(?:{_BEFORE}|{_PARTS}|del|principios\s+del?|mediados\s+del?|finales\s+del?){_SMALL}\s+$"
)
_OWN = re.compile(r"\b(?:my|his|her|their|our|your|mi|su|tu|nuestro)\s+$")
_EVEN = re.compile(r"\b(?:even|incluso|hasta|aun)\s+(?:in|en)(?:\s+(?:the|el))?\s+$")
_BEFORE_HOLIDAY = re.compile(rf"\b(?:{_BEFORE}|at|for|por|a){_SMALL}\s+$")
_BEFORE_YEAR = re.compile(
    rf"(?:\b(?:{_BEFORE}|of|de|del|back\s+in|year|ano|el|{_PARTS}|born|{SEASON}|and|y|to|al"
    rf"|{YEAR}\s+a)"
    r"(?:\s+(?:about|like|around|el|ano|the\s+year|late|early|mid|como))?|\b(?:mid|early"
    r"|late)-)\s*'?$"
)
_COUNTED = re.compile(
    r"\s*(?:%|€|\$|euros?|pesos|dollars?|usd|eur|soles|km|m2|metros|meters|miles|personas|people"
    r"|users"
    r"|usuarios|words|palabras|calories|calorias|kcal|pages|paginas|times|veces|years|anos"
    r"|followers"
    r"|lines|items|steps|pasos|pieces|horas|hours|mg|ml|kg|g|x)(?![a-z])"
)
_DIRECTION = {"next": 1, "this": 0, "last": -1}


def _turned(hit: re.Match, moment: Moment) -> Reading | None:
    """Read "next month", "este verano", "el mayo pasado"."""
    groups, thing = hit.groupdict(), hit.group("thing")
    if groups.get("last") and _OWN.search(moment.before):
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
    """Return the span of a month, season or holiday in a given year, and how precise it is."""
    if thing in MONTHS:
        return (lambda year: spans.month(year, MONTHS[thing])), "month"
    if thing in SEASONS:
        number = SEASONS[thing]
        return (lambda year: spans.season(year, number, south=moment.south)), "season"
    names = HOLY_DAYS | HOLIDAYS
    make = names[re.sub(r"[\s-]+", " ", thing)]
    first, last = make(moment.today.year)
    return make, "day" if first == last else "week"


def _yearly(thing: str, shift: int, moment: Moment) -> Reading:
    make, precision = _maker(thing, moment)
    here = moment.today.year
    all_of_them = [make(year) for year in range(here - 2, here + 3)]
    if shift < 0:
        span = max(span for span in all_of_them if span[1] < moment.today)
    elif shift > 0:
        span = min(span for span in all_of_them if span[0] > moment.today)
    else:
        span = _this(all_of_them, moment)
    return Reading(*span, precision, role=_role(precision))


def _this(all_of_them: list[spans.Span], moment: Moment) -> spans.Span:
    """ "This summer" is this year's, unless the verb asks for one that is over or to come."""
    if moment.is_past:
        return max(span for span in all_of_them if span[0] <= moment.today)
    if moment.verb == "future":
        return min(span for span in all_of_them if span[1] >= moment.today)
    return next(span for span in all_of_them if span[1].year >= moment.today.year)


def _role(precision: str) -> str:
    return {"month": "month", "season": "season"}.get(precision, "day")


def _two_away(hit: re.Match, moment: Moment) -> Reading:
    return unit_span(UNITS[hit.group("thing")], 2 if hit.group("next") else -2, moment)


def _season_of_year(hit: re.Match, moment: Moment) -> Reading:
    make, precision = _maker(hit.group("thing"), moment)
    return Reading(*make(int(hit.group("y"))), precision, role="season")


def _bare_season(hit: re.Match, moment: Moment) -> Reading | None:
    if not _BEFORE_SEASON.search(moment.before) or _EVEN.search(moment.before):
        return None
    usual = re.search(r"\b(?:in|en)(?:\s+(?:the|el|la))?\s+$", moment.before)
    if moment.habit or (usual and moment.verb == "present"):
        return HABITUAL
    make, precision = _maker(hit.group("thing"), moment)
    return dated(make, None, moment, precision=precision, role="season")


def _holiday(hit: re.Match, moment: Moment) -> Reading | None:
    wished = re.search(r"\b(?:feliz|felices|happy|merry)\s+$", moment.before)
    named = hit.re is HOLY_DAY or hit.group("y") or _BEFORE_HOLIDAY.search(moment.before)
    if wished or not named:
        return None
    if moment.habit:
        return HABITUAL
    make, precision = _maker(hit.group("thing"), moment)
    year = int(hit.group("y")) if hit.group("y") else None
    return dated(make, year, moment, precision=precision)


def _month_of_year(hit: re.Match, moment: Moment) -> Reading:
    digits = hit.group("y") or hit.group("yy") or hit.group("yy2") or hit.group("yy3")
    value = int(digits)
    year = value if value > 99 else value + (1900 if value >= 32 else 2000)
    return Reading(*spans.month(year, month_number(hit.group("m"))), "month", role="month")


def _bare_month(hit: re.Match, moment: Moment) -> Reading | None:
    word = hit.group("m")
    licensed = _BEFORE_MONTH.search(moment.before) or _AFTER_MONTH.match(moment.after)
    if not licensed or word in (
        "mar",
        "sep",
        "dec",
        "jun",
        "jul",
        "ene",
    ):
        return None
    if re.search(r"\b(?:may\s+or|kind\s+of\s+like|sort\s+of\s+like)\s+$", moment.before):
        return None
    person = (
        moment.capitalised(word) and word in ("julio", "abril") and moment.before.endswith("de ")
    )
    if person:
        return None
    if moment.habit:
        return HABITUAL
    number = month_number(word)
    return dated(
        lambda year: spans.month(year, number), None, moment, precision="month", role="month"
    )


def _years(hit: re.Match, moment: Moment) -> Reading | None:
    first, last = hit.group("a"), hit.group("b")
    end = int(last) if len(last) == 4 else int(first[:2] + last)
    if end < int(first) or (len(last) == 2 and end > int(first) + 30):
        return None
    return Reading(
        spans.year(int(first))[0], spans.year(end)[1], "year", role="span", kind="during"
    )


def _bare_year(hit: re.Match, moment: Moment) -> Reading | None:
    opening = not moment.before.strip() and re.match(r"\s*(?:$|[,.;!])", moment.after)
    if not (opening or _BEFORE_YEAR.search(moment.before)) or _COUNTED.match(moment.after):
        return None
    digits = hit.group("y")
    year = int(digits) if len(digits) == 4 else int(digits) + (1900 if digits > "49" else 2000)
    return Reading(*spans.year(year), "year", role="year")


def _year_es(hit: re.Match, moment: Moment) -> Reading:
    return Reading(*spans.year(1900 + int(hit.group("y"))), "year", role="year")


RULES = [
    (TWO_AWAY, _two_away),
    (HOLY_DAY, _holiday),
    (TURNED_ES, _turned),
    (TURNED_EN, _turned),
    (FOLLOWED_ES, _turned),
    (SEASON_OF_YEAR, _season_of_year),
    (MONTH_OF_YEAR, _month_of_year),
    (YEARS, _years),
    (BARE_HOLIDAY, _holiday),
    (BARE_SEASON, _bare_season),
    (BARE_MONTH, _bare_month),
    (BARE_YEAR, _bare_year),
    (YEAR_ES, _year_es),
]


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
    return Reading(NO_DAY, NO_DAY, role="part", narrow=_narrower(_part_name(hit)))


def _narrower(name: str) -> Callable[[Reading], Reading]:
    def narrow(whole: Reading) -> Reading:
        finer = {"month": "week", "week": "day", "day": "day"}.get(whole.precision, "month")
        return Reading(*spans.part(whole.span, name), finer)

    return narrow


def _part_of_this(hit: re.Match, moment: Moment) -> Reading:
    """Read "end of the month", "a principios de año": the last or the next one by the tense."""
    unit = UNITS[hit.group("thing")]
    narrow = _narrower(_part_name(hit))
    near = [narrow(unit_span(unit, shift, moment)) for shift in (-1, 0, 1)]
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

    return Reading(NO_DAY, NO_DAY, role="part", narrow=narrow)


# "Last Friday of May" is not "last Friday": these are read before the weekdays.
RANKED = [(NTH, _nth)]
VAGUE = [(PART_OF_THIS, _part_of_this), (PART, _part)]
