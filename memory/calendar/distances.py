"""So long ago, in so long, for so long: "two years ago", "dentro de un mes", "llevo tres años"."""

import re

from memory.calendar import spans
from memory.calendar.reading import Moment, Reading
from memory.calendar.words import AMOUNT, UNIT, UNITS, number

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


def _moved(hit: re.Match, moment: Moment, sign: int, **more) -> Reading:
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


RULES = [
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
