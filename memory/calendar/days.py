"""Days by number: "3 May 2027", "el 3 de mayo", "5/3/2027", "2027-05-03", "the 18th"."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

from memory.calendar import spans
from memory.calendar.reading import Moment, Reading, existing
from memory.calendar.spans import Span
from memory.calendar.words import (
    ANY_MONTH,
    ANY_WEEKDAY,
    NUMBERS,
    ORDINALS,
    WEEKDAY,
    YEAR,
    any_of,
    month_number,
    number,
    weekday_number,
)

HALF_A_YEAR = timedelta(days=190)
_FREE = r"(?<![\w/:.,+$€£#-])"
_DIGITS = r"[0-3]?\d(?:st|nd|rd|th|º|°)?"
_ORDINAL_WORD = any_of(ORDINALS)
_WORD = any_of({**ORDINALS, **NUMBERS})
_OF_YEAR = (
    rf"(?:,?\s+(?:of\s+|de\s+|del\s+)?(?:ano\s+)?(?P<y>{YEAR})\b|\s+del?\s+'?(?P<yy>\d\d)\b)?"
)
_TO = r"\s*(?:-|–|to|through|and|&|al?|hasta|y)\s*(?:the\s+|el\s+)?"

ISO = re.compile(rf"{_FREE}(?P<y>{YEAR})[-/](?P<m>\d\d)[-/](?P<d>\d\d)(?![\d/-])")
ISO_MONTH = re.compile(rf"{_FREE}(?P<y>{YEAR})-(?P<m>0[1-9]|1[0-2])(?![\w-]|\.\d)")
NUMERIC = re.compile(
    rf"{_FREE}(?P<a>\d{{1,2}})(?P<sep>[/.-])(?P<b>\d{{1,2}})(?P=sep)(?P<y>{YEAR}|\d\d)(?![\w/-]"
    rf"|\.\d)"
)
MONTH_OF_YEAR = re.compile(rf"{_FREE}(?P<m>0?[1-9]|1[0-2])/(?P<y>{YEAR})(?![\w/-])")
SHORT_NUMERIC = re.compile(rf"{_FREE}(?P<a>\d{{1,2}})/(?P<b>\d{{1,2}})(?![\w/:-]|\.\d)")
DAYS_OF_MONTH = re.compile(
    rf"{_FREE}(?P<d>{_DIGITS}){_TO}(?P<e>{_DIGITS})\s*(?:of\s+"
    rf"|de\s+)?(?P<m>{ANY_MONTH})\b{_OF_YEAR}"
)
MONTH_AND_DAYS = re.compile(
    rf"\b(?P<m>{ANY_MONTH})\.?\s+(?P<d>{_DIGITS}){_TO}(?P<e>{_DIGITS})(?![\w:%]|\s*[ap]m){_OF_YEAR}"
)
DAY_FIRST = re.compile(
    rf"{_FREE}(?:(?P<d>{_DIGITS})\s*(?:of\s+|de\s+|-)?|(?P<word>{_WORD})\s+(?:of|de)\s+)"
    rf"(?P<m>{ANY_MONTH})\b(?:\.(?=\s+\d))?{_OF_YEAR}"
)
MONTH_FIRST = re.compile(
    rf"\b(?P<m>{ANY_MONTH})"
    rf"(?:\.?\s+(?:the\s+)?(?P<d>{_DIGITS})|\s+(?:the\s+)?(?P<word>{_ORDINAL_WORD}))"
    rf"(?![\w:%/-]|[.,]\d|\s*[ap]m\b){_OF_YEAR}"
)
WEEKDAY_AND_NUMBER = re.compile(
    rf"\b(?P<w>{ANY_WEEKDAY}),?\s+(?:the\s+|el\s+|dia\s+)?(?P<d>[0-3]?\d)(?P<th>st|nd|rd|th)?\b"
    r"(?![:%/.h]\w|\s*(?:[ap]m|hs|h|horas)\b)"
)
DAY_AND_MONTH_NUMBER = re.compile(
    r"(?:(?<=\bel )|(?<=\bdel )|(?<=\bal ))(?P<a>[0-3]?\d)\s+del?\s+(?P<b>0?[1-9]|1[0-2])\b"
    r"(?![:%/]|[.,]\d|\s*(?:%|personas|euros|anos))"
)
THE_NTH = re.compile(
    rf"\b(?:(?:the\s+)?(?P<d>[0-3]?\d(?:st|nd|rd|th))"
    rf"|(?:(?<=on )|(?<=by )|(?<=till )|(?<=until ))the\s+(?P<word>{_ORDINAL_WORD})"
    rf"|the\s+(?P<word2>{_ORDINAL_WORD})(?=\s+of\s+(?:this|next|last)\s+month))\b"
    r"(?=\s*(?:$|[.,;:!?)\n-])|\s+(?:at|and|to|with|in|so|but|for|from|is|was|off|till?|until"
    r"|because|if"
    r"|when|then|i|we|he|she|they|it|or|as|there|instead|now|again|of\s+(?:this|next"
    r"|last)\s+month)\b)"
)
EL_NUMBER = re.compile(
    r"(?:(?<=\bel )|(?<=\bal )|(?<=\bdel ))(?P<dia>dia\s+)?(?P<d>[0-3]?\d)\b"
    r"(?![:%°º/h-]\w?|[.,]\d|\s+\d)(?!\s*(?:%|por\s+ciento|veces|horas?|anos|euros|pesos|k[mg]\b"
    r"|de\b(?!\s+est[ea]\s+mes)|y\s+medio|por\s+\w+$|puntos))"
)
_BEFORE_SLASH = re.compile(
    r"(?:^|\b(?:on|by|el|del|al|dia|until|till|before|due|from|since|deadline|for|para|hasta|desde"
    r"|antes\s+del|is|es|" + WEEKDAY + r"),?)\s*$"
)
_AFTER_SLASH = re.compile(r"\s*(?:$|[.,;!?)\n-]|(?:at|to|al?|and|y|por|in|en|with|con|for|para)\b)")
_NOT_A_DAY = re.compile(
    r"\b(?:en|con|por|vs|contra|bus|linea|piso|numero|depto|calle|parqueadero\s+es|calzo"
    r"|vecin[oa]s?"
    rf"|{ANY_MONTH})\s+(?:el|al|del)\s+$"
)
_BEFORE_NTH = re.compile(r"\b(?:on|to|and|from|by|till|until)\s+$")
_SPANISH_DAYS = set("lunes martes miercoles jueves juevez viernes vierns sabado domingo".split())


def _year(hit: re.Match) -> int | None:
    groups = hit.groupdict()
    if groups.get("y"):
        return _full_year(groups["y"])
    return _full_year(groups["yy"]) if groups.get("yy") else None


def _full_year(digits: str) -> int:
    value = int(digits)
    return value if value > 99 else value + (1900 if value >= 50 else 2000)


def dated(make: Callable[[int], Span], year: int | None, moment: Moment, **more) -> Reading:
    """Read what comes every year, in the year that was said or else the one the tense asks for."""
    moment = _decided(moment, exact=more.get("precision", "day") == "day")
    span = make(year) if year else moment.yearly(make)
    return Reading(*span, in_year=None if year else make, **more)


def _decided(moment: Moment, *, exact: bool) -> Moment:
    """Take a form of two tenses as one: "nos casamos el 6 de mayo" announces, "en mayo" tells."""
    verb = "future" if exact else "past"
    return replace(moment, verb=verb) if moment.verb == "either" else moment


def _day(hit: re.Match, moment: Moment) -> Reading | None:
    groups, month = hit.groupdict(), hit.group("m")
    verb = month in ("may", "march") and hit.group().startswith(month)
    if groups["word"] and verb and not moment.capitalised(month):
        return None  # "I may second that"
    month, day = month_number(month), number(groups["d"] or groups["word"])
    return dated(lambda year: spans.days(date(year, month, day)), _year(hit), moment)


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


def _iso(hit: re.Match, moment: Moment) -> Reading:
    return Reading(*spans.days(date(*(int(hit.group(name)) for name in "ymd"))))


def _month_of_year(hit: re.Match, moment: Moment) -> Reading:
    return Reading(*spans.month(int(hit.group("y")), int(hit.group("m"))), "month", role="month")


def _numeric(hit: re.Match, moment: Moment) -> Reading | None:
    year = hit.group("y")
    is_version = re.search(r"\bv(?:er\w*)?\.?\s*$", moment.before)
    if is_version or (hit.group("sep") != "/" and len(year) == 2):
        return None
    day, month = _ordered(hit, moment)
    return Reading(*spans.days(date(_full_year(year), month, day)))


def _short_numeric(hit: re.Match, moment: Moment) -> Reading | None:
    """Read "3/5" only where a day may stand: 7/10 is mostly a mark, 1/2 a half, 24/7 a habit."""
    if not (_BEFORE_SLASH.search(moment.before) and _AFTER_SLASH.match(moment.after)):
        return None
    day, month = _ordered(hit, moment)
    if hit.group() == "24/7":
        return None
    return dated(lambda year: spans.days(date(year, month, day)), None, moment)


def _day_and_month_number(hit: re.Match, moment: Moment) -> Reading:
    day, month = int(hit.group("a")), int(hit.group("b"))
    return dated(lambda year: spans.days(date(year, month, day)), None, moment)


def _ordered(hit: re.Match, moment: Moment) -> tuple[int, int]:
    first, second = int(hit.group("a")), int(hit.group("b"))
    day_first = first > 12 or (moment.language != "en" and second <= 12)
    return (first, second) if day_first else (second, first)


def _monthly(day: int, moment: Moment, **more) -> Reading:
    """Read a day without its month: the last one or the next one that has such a day."""

    def make(shift: int) -> Span:
        first = spans.add_months(moment.today.replace(day=1), shift)
        return spans.days(first.replace(day=day))

    moment = _decided(moment, exact=True)
    return Reading(
        *moment.choose(existing(make, range(-3, 4))),
        role="monthday",
        in_month=lambda month: spans.days(month[0].replace(day=day)),
        **more,
    )


def _nth(hit: re.Match, moment: Moment) -> Reading | None:
    named = hit.group().startswith("the") or _BEFORE_NTH.search(moment.before)
    words = hit.group("d") or hit.group("word") or hit.group("word2")
    return _monthly(number(words), moment) if named else None


def _el_number(hit: re.Match, moment: Moment) -> Reading | None:
    if _NOT_A_DAY.search(moment.before) and not hit.group("dia"):
        return None
    return _monthly(int(hit.group("d")), moment)


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


RULES = [
    (ISO, _iso),
    (ISO_MONTH, _month_of_year),
    (NUMERIC, _numeric),
    (MONTH_OF_YEAR, _month_of_year),
    (DAYS_OF_MONTH, _day_range),
    (MONTH_AND_DAYS, _day_range),
    (DAY_FIRST, _day),
    (MONTH_FIRST, _day),
    (SHORT_NUMERIC, _short_numeric),
    (WEEKDAY_AND_NUMBER, _weekday_and_number),
    (DAY_AND_MONTH_NUMBER, _day_and_month_number),
    (THE_NTH, _nth),
    (EL_NUMBER, _el_number),
]
