"""Days near today by name: "tomorrow", "el viernes que viene", "last Friday", "este finde"."""

import re
from datetime import timedelta

from memory.calendar import spans
from memory.calendar.reading import Moment, Reading
from memory.calendar.words import ANY_WEEKDAY, SHORT_WEEKDAYS, WEEKDAY, any_of, weekday_number

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
_NOT_A_DAY = re.compile(
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


def _next_day(moment: Moment, number: int, *, today_too: bool = False):
    ahead = (number - moment.today.weekday()) % 7
    return moment.today + timedelta(days=ahead if ahead or today_too else 7)


def _last_day(moment: Moment, number: int):
    return moment.today - timedelta(days=(moment.today.weekday() - number) % 7 or 7)


def _weekday(day, **more) -> Reading:
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
    if _NOT_A_DAY.search(moment.before) or (
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
