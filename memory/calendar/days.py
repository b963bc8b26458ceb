"""Days by number and by name: "3 May 2027", "5/3/2027", "the 18th", "el viernes que viene"."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from memory.calendar import spans
from memory.calendar.spans import Moment, Reading, Span, existing
from memory.calendar.words import (
    ANY_MONTH,
    ANY_WEEKDAY,
    NUMBERS,
    ORDINALS,
    SHORT_WEEKDAYS,
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


def dated(make: Callable[[int], Span], year: int | None, moment: Moment, **more: Any) -> Reading:
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


def _monthly(day: int, moment: Moment, **more: Any) -> Reading:
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


_DAYS_AWAY = {
    "today|this morning|this afternoon|this evening|tonight|tonite|hoy|esta tarde|esta noche"
    "|esta manana|this lunchtime|later today": 0,
    "tomorrow|tomorow|tommorow|tommorrow|tomorrrow|tmrw|tmr|tmw|2moro|2morrow": 1,
    "the day after tomorrow|day after tomorrow|pasado manana|pasadomanana|overmorrow": 2,
    "yesterday|yday|ayer|last night|last nite|anoche|last evening": -1,
    "the day before yesterday|day before yesterday|anteayer|antier|antes de ayer|antesdeayer"
    "|antiayer|the night before last|anteanoche|antenoche": -2,
}
NAMED = {name: shift for names, shift in _DAYS_AWAY.items() for name in names.split("|")}
NEAR = re.compile(rf"\b(?P<name>{any_of(NAMED)})\b")
# After an article it is the morning; "mañana, tarde y noche" are parts of any day.
MANANA = re.compile(
    r"(?<!\bla )(?<!\blas )(?<!\buna )(?<!\bcada )(?<!\bmedia )(?<!\bde muy )(?<!\bbuena )"
    r"(?<!\bmisma )(?<!\bturno de )(?<!\bpor )(?<!\d de )\bmanana\b"
    r"(?!\s*(?:,\s*)?(?:que|o|y|,)\s*(?:la\s+)?(?:tarde|noche))"
)
PART_OF_DAY = re.compile(
    r"\b(?:(?:in|during)\s+the\s+)?(?:morning|afternoon|evening|night|lunchtime)\b"
    r"|\b(?:por|en|a|de)\s+la\s+(?:mananita|manana|tarde|noche|madrugada)\b"
    r"|\bde\s+madrugada\b|\ba\s+primera\s+hora\b|\bfirst\s+thing\b|\btemprano\b"
    r"|\ba\s+ultima\s+hora\b"
)
_PARTS = {
    "morning": r"morning|esta manana|la manan|madrugada|primera|first|temprano",
    "afternoon": r"afternoon|tarde|lunch",
    "night": r"night|nite|noche|evening|ultima",
}

_NEXT_EN, _LAST_EN = r"(?:(?:this|the)\s+coming|upcoming)", r"(?:this\s+past|last|past)"
TURNED_EN = re.compile(
    rf"\b(?:(?P<next>next)|(?P<coming>{_NEXT_EN})|(?P<last>{_LAST_EN})|(?P<this>this))\s+"
    rf"(?P<day>{ANY_WEEKDAY})\b"
)
TURNED_ES = re.compile(
    rf"\b(?:est[ea]\s+|el\s+)?(?:(?P<coming>proximo)|(?P<last>pasado"
    rf"|ultimo))\s+(?P<day>{WEEKDAY})\b"
)
FOLLOWED_ES = re.compile(
    rf"\b(?P<day>{WEEKDAY})\s+(?:(?P<coming>que\s+viene|que\s+entra|entrante|proximo)"
    r"|(?P<last>pasado|que\s+paso|anterior))\b(?!\s+manana)"
)
ESTE = re.compile(rf"\b(?P<this>este)\s+(?P<day>{WEEKDAY})\b")
PLAIN = re.compile(
    rf"\b(?P<day>{WEEKDAY}|(?:(?<=on )|(?<=by )|(?<=till )|(?<=until )|(?<=from )|(?<=since ))"
    rf"{any_of(SHORT_WEEKDAYS)}|tue|thu|fri"
    rf"|{any_of(SHORT_WEEKDAYS)}(?=\s*(?:-|–|to|through|thru)\s*{ANY_WEEKDAY}\b)"
    rf"|(?:(?<=to )|(?<=through )|(?<=thru )|(?<=-)){any_of(SHORT_WEEKDAYS)}"
    rf"|{any_of(SHORT_WEEKDAYS)}(?=\s+(?:at\s+)?\d\d?(?::\d\d)?\s?[ap]m\b))\b"
)
_WEEK_LATER = re.compile(
    rf"\b(?:a|one)\s+week\s+(?:from|on)\s+(?P<day>{WEEKDAY})\b|\b(?P<day2>{WEEKDAY})\s+week\b"
)
AFTER_NEXT = re.compile(rf"\b(?:the\s+)?(?P<day>{WEEKDAY})\s+after\s+next\b")
_NOT_A_WEEKDAY = re.compile(
    r"\b(?:any|some|un|algun|ningun|cualquier|it'?s|it'?s\s+(?:only|already|just|a)|hoy\s+es"
    r"|ya\s+es"
    r"|y\s+es|today\s+is|called|named|santo|placido|don|casual|taco|happy|feliz|bendecido|buen|nice"
    r"|llamado|otro|mi|es|sea|era|eres|fue|normal|typical|another)\s+$"
)

_WEEKEND = r"(?:weekend|wknd|finde|fin\s+de\s+semana)"
WEEKEND_EN = re.compile(
    rf"\b(?:(?P<next>next)|(?P<coming>{_NEXT_EN})|(?P<last>{_LAST_EN})|(?P<this>this)"
    rf"|(?P<plain>the))\s+{_WEEKEND}\b(?!\s+(?:before|after|of|del?)\b)"
)
WEEKEND_ES = re.compile(
    rf"\b(?:este\s+(?P<pax>pasado\s+)?(?:proximo\s+)?{_WEEKEND}(?P<pax2>\s+pasado)?"
    rf"|(?:el\s+)?(?:(?P<next>proximo)|(?P<last>pasado|ultimo))\s+{_WEEKEND}"
    rf"|(?:el\s+)?{_WEEKEND}\s+(?:(?P<next2>que\s+viene|que\s+entra|entrante|proximo)"
    rf"|(?P<last2>pasado))"
    rf"|(?P<plain>el|al|del)\s+{_WEEKEND})\b(?!\s+del?\s+\d)"
)


def _near(hit: re.Match, moment: Moment) -> Reading:
    name = re.sub(r"[\s-]+", " ", hit.group("name"))
    day = moment.today + timedelta(days=NAMED[name])
    return Reading(*spans.days(day), role="near", part=_part(name))


def _manana(hit: re.Match, moment: Moment) -> Reading:
    return Reading(*spans.days(moment.today + timedelta(days=1)), role="near")


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


def _weekday(day: date, **more: Any) -> Reading:
    return Reading(*spans.days(day), role="weekday", **more)


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


def _plain(hit: re.Match, moment: Moment) -> Reading | None:
    if _NOT_A_WEEKDAY.search(moment.before) or (
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


def _week_later(hit: re.Match, moment: Moment) -> Reading:
    number = weekday_number(hit.group("day") or hit.group("day2"))
    return _weekday(_next_day(moment, number) + timedelta(days=7))


def _after_next(hit: re.Match, moment: Moment) -> Reading:
    return _weekday(_next_day(moment, weekday_number(hit.group("day"))) + timedelta(days=7))


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


RELATIVE = [
    (NEAR, _near),
    (MANANA, _manana),
    (WEEKEND_EN, _weekend),
    (WEEKEND_ES, _weekend),
    (_WEEK_LATER, _week_later),
    (AFTER_NEXT, _after_next),
    (TURNED_EN, _turned),
    (TURNED_ES, _turned),
    (FOLLOWED_ES, _turned),
    (ESTE, _turned),
]
BARE = [(PLAIN, _plain)]
PARTS_OF_DAY = [(PART_OF_DAY, _part_of_day)]
