"""How long, how often and at what hour: "two years ago", "los lunes", "a las siete y media"."""

import re
from datetime import time
from typing import Any

from memory.calendar import spans
from memory.calendar.spans import HABITUAL, Moment, Reading
from memory.calendar.words import (
    AMOUNT,
    ANY_WEEKDAY,
    MONTH,
    NUMBERS,
    RANKS,
    SEASON,
    UNIT,
    UNITS,
    WEEKDAY,
    any_of,
    number,
)

_ABOUT = (
    r"(?:(?:about|around|like|almost|nearly|over|just|exactly|roughly|maybe|some|ya|como|casi|unos"
    r"|unas|apenas|mas\s+de|cerca\s+de|aproximadamente|exactamente|solo|tan\s+solo)\s+)*"
)
_HALF = r"(?P<half>\s+and\s+a\s+half|\s+y\s+medi[oa])?"
_LONG = (
    rf"(?:(?P<n>{AMOUNT})(?P<half_n>\s+and\s+a\s+half)?\s*(?:of\s+|de\s+)?(?P<unit>{UNIT})\b{_HALF}"
    rf"|(?P<bare>ano|year|mes)\s+(?:y\s+medio|and\s+a?\s*half)|(?:half\s+a"
    rf"|medio)\s+(?P<halved>year|ano))"
)

AGO = re.compile(rf"\b{_ABOUT}{_LONG}\s+(?:ago|back\b(?!\s+(?:to|from|at|in)))")
SINCE_HACE = re.compile(rf"\b(?:desde\s+hace|since)\s+{_ABOUT}{_LONG}(?!\s+ago)\b")
HACE_QUE = re.compile(rf"\bhace\s+{_ABOUT}{_LONG}\s+que\b")
HACE = re.compile(rf"\bhace\s+{_ABOUT}{_LONG}\b(?:\s+atras\b)?")
ATRAS = re.compile(rf"\b{_ABOUT}{_LONG}\s+atras\b")
LLEVO = re.compile(rf"\bllev(?:o|as|a|amos|ais|an)\s+(?:aqui\s+|alli\s+|ahi\s+)?{_ABOUT}{_LONG}\b")
AHEAD = re.compile(
    rf"\b(?:(?:in|within)\s+{_ABOUT}(?:the\s+next\s+)?|(?:dentro\s+de|de\s+aqui\s+a"
    rf"|en)\s+{_ABOUT}){_LONG}"
    r"\b(?!\s+(?:ago|or\s+so\s+ago|flat|of\b|de\s+(?:experiencia|trabajo|vida)))(?:'s?\s+time)?"
)
FROM_NOW = re.compile(rf"\b{_LONG}\s+from\s+(?:now|today|tomorrow)\b")
IN_EIGHT = re.compile(r"\bde\s+hoy\s+en\s+(?P<days>ocho|quince)\b")
FOR = re.compile(
    rf"\bfor\s+{_ABOUT}(?:the\s+(?:last|past)\s+)?{_LONG}\b(?P<now>\s+now)?(?!\s+(?:old|ago|visa"
    rf"|course))"
)
LATELY = re.compile(
    r"\b(?:(?P<for>for)\s+)?(?:(?:in|over|during|within|en|durante)\s+)?"
    r"(?:the\s+(?:last|past)|(?:los|las)\s+ultim[oa]s|est[oa]s\s+ultim[oa]s|el\s+ultimo"
    r"|la\s+ultima)"
    rf"\s+(?:(?P<n>{AMOUNT})\s+)?(?P<unit>{UNIT})\b(?!\s+(?:of|del?)\b)"
)
PERFECT = re.compile(
    r"\b(?:have|has|haven't|hasn't|'ve|ive|weve|theyve|youve|havent|hasnt|been"
    r"|(?:'s|hes|shes|its)\s+(?:taught|had|kept|\w+ed))\b(?!\s+(?:got|booked|planned|paid"
    r"|rented)\b)[^.,:;!?\n]*$"
)
ONE = ("a", "an", "one", "un", "una")


def _months_and_half(hit: re.Match) -> tuple[int, str, bool]:
    """Return amount, unit and whether half a unit more was said."""
    groups = hit.groupdict()
    if groups.get("halved"):
        return 6, "month", False
    if groups.get("bare"):
        return 1, UNITS[groups["bare"]], True
    half = bool(groups.get("half") or groups.get("half_n"))
    return number(groups["n"]), UNITS[groups["unit"]], half


def _moved(hit: re.Match, moment: Moment, sign: int, **more: Any) -> Reading:
    """Read a point so far away. It is one day, but known only as precisely as its unit."""
    amount, unit, half = _months_and_half(hit)
    day = spans.add(moment.today, sign * amount, unit)
    if half:
        smaller = {"year": (6, "month"), "month": (15, "day"), "week": (3, "day")}
        day = spans.add(
            day, sign * smaller.get(unit, (0, "day"))[0], smaller.get(unit, (0, "day"))[1]
        )
    precision = {"fortnight": "week", "decade": "year"}.get(unit, unit)
    return Reading(day, day, precision, role="point", **more)


def _ago(hit: re.Match, moment: Moment) -> Reading:
    return _moved(hit, moment, -1)


def _since(hit: re.Match, moment: Moment) -> Reading:
    return _moved(hit, moment, -1, kind="from")


def _hace(hit: re.Match, moment: Moment) -> Reading | None:
    """ "Vivo aquí hace dos años" began then; "me mudé hace dos años" happened then."""
    return _moved(hit, moment, -1, kind="from" if moment.verb == "present" else "")


def _hace_que(hit: re.Match, moment: Moment) -> Reading:
    return _moved(hit, moment, -1, kind="" if moment.is_past else "from")


def _ahead(hit: re.Match, moment: Moment) -> Reading | None:
    """ "I lost five kilos in two weeks" says how long it took, not when."""
    how_long = moment.is_past or re.search(r"\b(?:time|vez|first|primer[oa]?)\s+$", moment.before)
    # Asked of a memory, "how much do they give in a year" wants a rate.
    rate = moment.lean == "past" and moment.verb == "present" and hit.group("n") in ONE
    return None if how_long or rate else _moved(hit, moment, 1)


def _from_now(hit: re.Match, moment: Moment) -> Reading:
    return _moved(hit, moment, 1)


def _in_eight(hit: re.Match, moment: Moment) -> Reading:
    days = {"ocho": 7, "quince": 14}[hit.group("days")]
    return Reading(*spans.days(spans.add(moment.today, days, "day")))


def _for(hit: re.Match, moment: Moment) -> Reading | None:
    """Read how long something has been so; "for a week" of a trip begins nowhere."""
    unit = _months_and_half(hit)[1]
    perfect = PERFECT.search(moment.before) or hit.group("now")
    state = unit in ("year", "decade") and moment.verb in ("", "present")
    return _moved(hit, moment, -1, kind="from") if perfect or state else None


def _lately(hit: re.Match, moment: Moment) -> Reading:
    amount, unit = number(hit.group("n") or "a"), UNITS[hit.group("unit")]
    kind = "from" if hit.group("for") else "during"
    first = spans.add(moment.today, -amount, unit)
    return Reading(first, moment.today, "day", role="span", kind=kind)


DISTANCES = [
    (SINCE_HACE, _since),
    (AGO, _ago),
    (HACE_QUE, _hace_que),
    (HACE, _hace),
    (ATRAS, _ago),
    (LLEVO, _since),
    (FROM_NOW, _from_now),
    (IN_EIGHT, _in_eight),
    (LATELY, _lately),
    (FOR, _for),
    (AHEAD, _ahead),
]


_RANK = any_of(RANKS)
_ENGLISH_DAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SPANISH_DAYS = "(?:lunes|martes|miercoles|jueves|viernes|sabado|domingo)"
_PLURAL = f"(?:{_ENGLISH_DAYS}s|sabados|domingos)"
_PARTS = "(?:mornings?|afternoons?|evenings?|nights?|mananas?|tardes?|noches?|madrugadas?)"
_PLURAL_PARTS = "(?:mornings|afternoons|evenings|nights|mananas|tardes|noches)"
_AND = r"\s*(?:,|&|/|\b(?:and|or|y|e|o|u)\b)\s*"
_WEEKENDS = r"(?:weekends?|fin(?:es)?\s+de\s+semana|findes?)"
_THING = rf"(?:{UNIT}|{_WEEKENDS}|{_PLURAL}|{WEEKDAY}|{_PARTS}|{MONTH}|{SEASON}|christmas|navidad)"
_MORE_DAYS = rf"(?:{_AND}(?:los\s+|on\s+)?(?:{_PLURAL}|{WEEKDAY})\b)*(?:\s+{_PARTS}\b)?"

EVERY = re.compile(
    rf"\b(?:every|each|cada|todos\s+los|todas\s+las)\s+(?:single\s+|other\s+|few\s+|sagrados?\s+)?"
    rf"(?:{_RANK}\s+|{AMOUNT}\s+)?{_THING}\b{_MORE_DAYS}"
)
PLURAL_DAYS = re.compile(rf"\b(?:on\s+|los\s+)?{_PLURAL}\b{_MORE_DAYS}")
LOS = re.compile(rf"\blos\s+(?:\w+os\s+)?{_SPANISH_DAYS}\b{_MORE_DAYS}")
PLURAL_PARTS = re.compile(
    rf"\b(?:{ANY_WEEKDAY}\s+{_PLURAL_PARTS}|(?:in\s+the|por\s+las|en\s+las)\s+{_PLURAL_PARTS})\b"
)
WEEKENDS = re.compile(
    r"\b(?:(?:on|at|los|the)\s+)?(?:weekends|weekdays|weeknights|fines\s+de\s+semana|findes)\b"
    r"|\b(?:(?:on|at)\s+the\s+weekends|entre\s+semana)\b"
)
OFTEN = re.compile(
    rf"\b(?:once|twice|thrice|{AMOUNT}\s+times|una\s+vez|{AMOUNT}\s+veces)\s+"
    r"(?:an?|per|each|every|por|al|a\s+la|cada)\s+(?:day|night|week|fortnight|month|year|dia|noche"
    r"|semana|quincena|mes|ano)\b"
    r"|\b(?:daily|weekly|fortnightly|bi-?weekly|monthly|yearly|annually|nightly|a\s+diario"
    r"|diariamente|semanalmente|mensualmente|anualmente)\b"
)
OF_EACH_MONTH = re.compile(
    rf"\b(?:(?:the|el|los|on)\s+)*(?:{_RANK}s?\s+{WEEKDAY}s?|[0-3]?\d(?:st|nd|rd|th)?|{_RANK}"
    rf"|end|fin|finales?|principios?|start)\s+(?:of|de)\s+"
    r"(?:(?:each|every|cada)\s+(?:month|mes|year|ano)|the\s+month\b(?!\s+of)|mes)\b"
)
RANKED_ALONE = re.compile(
    rf"\b(?:el\s+|los\s+)?primer(?:os)?\s+{_SPANISH_DAYS}\b(?!\s+del?\b)"
    rf"|\bthe\s+(?:first|second|third|fourth)\s+{_ENGLISH_DAYS}\b(?!\s+(?:of|in|after|before)\b)"
)
DAY_LIST = re.compile(
    rf"(?<!el )(?<!este )(?<!proximo )\b{_SPANISH_DAYS}{_AND}{_SPANISH_DAYS}\b"
    rf"(?:{_AND}{_SPANISH_DAYS}\b)*"
)
DAY_RANGE = re.compile(
    rf"\b(?:de\s+|from\s+)?(?P<a>{ANY_WEEKDAY})\s*(?P<to>a|to|through|thru|-|–)\s*"
    rf"(?P<b>{ANY_WEEKDAY})\b"
)
_HABIT = re.compile(
    r"\b(?:works?|working|opens?|opening|closed|closes?|usually|normally|always|trains?"
    r"|teach(?:es)?"
    r"|class(?:es)?|shifts?|hours|office|gym|trabaj\w+|abr[eio]\w*|cierr\w+|entren\w+|siempre"
    r"|clases?"
    r"|horario|turnos?)\b"
)


def _every(hit: re.Match, moment: Moment) -> Reading:
    return HABITUAL


def _end_of_month(hit: re.Match, moment: Moment) -> Reading | None:
    """ "The end of the month" is a date; "the first Monday of the month" comes every month."""
    vague = re.search(r"\b(?:end|start|fin|finales?|principios?)\b", hit.group())
    each = re.search(r"\b(?:each|every|cada)\b", hit.group())
    return None if vague and not each else _every(hit, moment)


def _unless_dated(hit: re.Match, moment: Moment) -> Reading | None:
    """ "Martes y jueves" is a habit, but not in "estuve martes y jueves"."""
    return None if moment.is_past or moment.verb == "future" else _every(hit, moment)


def _day_range(hit: re.Match, moment: Moment) -> Reading | None:
    working_week = hit.group("a")[:3] in ("mon", "lun") and hit.group("b")[:3] in ("fri", "vie")
    spanish = hit.group("to") == "a"
    if not (working_week or spanish or _HABIT.search(moment.before)):
        return None
    return _unless_dated(hit, moment)


RECURRING = [
    (OF_EACH_MONTH, _end_of_month),
    (EVERY, _every),
    (PLURAL_DAYS, _every),
    (LOS, _every),
    (PLURAL_PARTS, _every),
    (WEEKENDS, _every),
    (OFTEN, _every),
    (RANKED_ALONE, _every),
    (DAY_RANGE, _day_range),
    (DAY_LIST, _unless_dated),
]


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


CLOCK = [
    (MERIDIEM, _meridiem),
    (AT_COLON, _sure),
    (AT_HOUR_ES, _hour_es),
    (AT_HOUR_EN, _hour_en),
    (NOON, _noon),
    (BARE, _weak),
]
