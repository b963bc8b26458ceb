"""Times of day: "at 5pm", "a las 17:00", "a las siete y media de la tarde", "noon"."""

import re
from datetime import time

from memory.calendar.reading import HABITUAL, Moment, Reading
from memory.calendar.words import NUMBERS, any_of, number

_HOUR_WORD = any_of(word for word, value in NUMBERS.items() if value <= 12) + "|una"
_HOUR = rf"(?P<h>2[0-3]|[01]?\d|{_HOUR_WORD})"
_MINUTE = r"(?P<m>[0-5]\d)"
_PART_ES = r"(?:\s+(?:de|en|por)\s+la\s+(?P<part>manana|tarde|noche|madrugada))?"
_PART_EN = r"(?:\s+(?:in\s+the\s+|at\s+|this\s+)?(?P<part>morning|afternoon|evening|night))?"
_NOT_A_NUMBER = r"(?<![\d:.,/$€£#+-])(?<!\w)"
_NO_MORE = r"(?![\d:/%]|[.,]\d|\w)"

MERIDIEM = re.compile(
    rf"(?:\b(?:at|around|by|from|a\s+las?)\s+|@\s*)?{_NOT_A_NUMBER}(?P<h>1[0-2]|0?[1-9])"
    rf"(?:[:.h]{_MINUTE})?\s?(?P<part>a\.?m\b\.?|p\.?m\b\.?){_NO_MORE}"
)
AT_COLON = re.compile(
    rf"(?:\b(?:at|around|by|a\s+las?|sobre\s+las|tipo|de\s+las|las)\s+|@\s*){_HOUR}"
    rf"[:h]{_MINUTE}(?:\s?(?:h|hs|hrs|horas)\b)?{_NO_MORE}{_PART_ES}"
)
AT_HOUR_ES = re.compile(
    rf"\b(?:a\s+las?|sobre\s+las?|tipo|para\s+las|desde\s+las)\s+{_HOUR}(?![\d:%]|\w)"
    rf"(?:\.{_MINUTE}|\s+y\s+(?P<half>media|cuarto|pico)\b)?(?:\s?(?:h|hs|hrs|horas)\b)?"
    rf"(?!\s*(?:%|semanas|dias|meses|anos|personas|chicas)){_PART_ES}"
)
AT_HOUR_EN = re.compile(
    rf"(?:\b(?:at|around|from|by)\s+|@\s*){_HOUR}(?:[.:]{_MINUTE})?(?!\w|[.,]\d|\s*%)"
    rf"(?:\s+o'?clock\b)?(?!\s+(?:years|weeks|days|months|people|percent|euros|places)){_PART_EN}"
)
BARE = re.compile(
    rf"{_NOT_A_NUMBER}(?P<h>2[0-3]|[01]?\d)(?:[:.]{_MINUTE}|\s?(?:hs|hrs|h)\b){_NO_MORE}"
)
NOON = re.compile(r"\b(?:at\s+)?(?:noon|midday)\b|\b(?:al?|a)\s+(?:el\s+)?mediodia\b")

_LATE = {"tarde", "noche", "afternoon", "evening", "night"}
# "At 5" is in the afternoon for most of what people arrange; "at 7" may be either.
FIRST_MORNING_HOUR = 7


def _hour(hit: re.Match, role: str, moment: Moment) -> Reading | None:
    groups = hit.groupdict()
    hour = 1 if groups["h"] == "una" else number(groups["h"])
    minute = int(groups.get("m") or {"media": 30, "cuarto": 15}.get(groups.get("half"), 0))
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
    today = moment.today
    return Reading(today, today, role=role, time=time(hour, minute), guessed=guessed)


def _sure(hit: re.Match, moment: Moment) -> Reading | None:
    return _hour(hit, "clock", moment)


def _weak(hit: re.Match, moment: Moment) -> Reading | None:
    """Read an hour that only counts beside a date: a bare "8.15" may be anything."""
    return _hour(hit, "weak clock", moment)


def _meridiem(hit: re.Match, moment: Moment) -> Reading | None:
    return (_sure if re.match(r"at|by|around|a\s|@", hit.group()) else _weak)(hit, moment)


def _hour_es(hit: re.Match, moment: Moment) -> Reading | None:
    """A number in words may count people ("a las dos les gusta"): then a date must stand beside."""
    sure = (
        (not hit.group().startswith("tipo") and hit.group("h").isdigit())
        or hit.group("half")
        or hit.group("part")
    )
    return (_sure if sure else _weak)(hit, moment)


def _hour_en(hit: re.Match, moment: Moment) -> Reading | None:
    sure = hit.group("part") or "clock" in hit.group()
    return (_sure if sure else _weak)(hit, moment)


def _noon(hit: re.Match, moment: Moment) -> Reading:
    role = "clock" if hit.group().startswith("a") else "weak clock"
    return Reading(moment.today, moment.today, role=role, time=time(12))


RULES = [
    (MERIDIEM, _meridiem),
    (AT_COLON, _sure),
    (AT_HOUR_ES, _hour_es),
    (AT_HOUR_EN, _hour_en),
    (NOON, _noon),
    (BARE, _weak),
]
