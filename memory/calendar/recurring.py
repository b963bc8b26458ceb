"""What comes again and again: "los lunes", "on fridays", "twice a week". Never one date."""

import re

from memory.calendar.reading import HABITUAL, Moment, Reading
from memory.calendar.words import (
    AMOUNT,
    ANY_WEEKDAY,
    MONTH,
    RANKS,
    SEASON,
    UNIT,
    WEEKDAY,
    any_of,
)

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


RULES = [
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
