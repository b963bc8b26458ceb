"""How one thing went on: at another time ("it is now the 12th"), elsewhere, or over. Pure.

A day, a date and an hour are told apart, so that each replaces its like and the rest stays.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from memory.calendar.words import MONTHS, SHORT_MONTHS, WEEKDAYS
from memory.text.normalise import fold, stems, words

DAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|lunes|martes|mi[eé]rcoles|jueves|viernes"
    r"|s[aá]bados?|domingos?)\b"
)
# Before a number: "sat" and "sun" are other words, too. A date that was found is blank by then.
_SHORT_DAY = r"(?:mon|tues?|weds?|thur?s?|fri|sat|sun)\.?(?=\s+[\d\0])"
_MONTH = "(?:" + "|".join(sorted({*MONTHS, *SHORT_MONTHS}, key=len, reverse=True)) + r")\b"
_ANY_DAY = rf"(?:{DAY}|{_SHORT_DAY})"
_HOUR = (
    r"(?:\d{1,2}(?:[:.]\d\d)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon"
    r"|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce)"
    r"(?:\s+(?:thirty|fifteen|forty[- ]five|y\s+(?:media|cuarto)))?"
)
_CLOCK = re.compile(
    rf"\b(?:five|ten|quarter|twenty|half)(?:[- ]five)? (?:past|to) {_HOUR}\b"
    rf"|\b\d{{1,2}}(?:[:.]\d\d)?\s?[ap]\.?m\b\.?|\b\d{{1,2}}[:.]\d\d\b(?!\s*(?:km|€|\$|kg|%))"
    rf"|(?<=\bat ){_HOUR}\b|(?<=\ba las ){_HOUR}\b|(?<=\ba la ){_HOUR}\b",
    re.I,
)
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+|de\s+|d\s+)?{_MONTH}"
    rf"|\b{_MONTH},?\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)\b|(?:(?<=\bel )|(?<=\bal )|(?<=\bday )|(?<=\bdía ))\d{{1,2}}\b"
    rf"|(?<=day )\d{{1,2}}\b(?!\s*(?:people|of us|personas))"
    rf"|(?:(?<=lunes )|(?<=martes )|(?<=coles )|(?<=jueves )|(?<=viernes )|(?<=bado )"
    rf"|(?<=domingo ))\d{{1,2}}\b",
    re.I,
)
_DAYS = re.compile(
    rf"\b{_ANY_DAY}(?:(?:,|\s+(?:y|e|and|&))*\s+(?:(?:on|el|los)\s+)?{_ANY_DAY})*", re.I
)
_ONE_DAY = re.compile(rf"\b{DAY}", re.I)
_NUMBER = re.compile(r"\d{1,2}(?:st|nd|rd|th)?")
_HAS_MONTH = re.compile(rf"\b{_MONTH}", re.I)
_GLUE = re.compile(
    r"\b(?:it is|it's|its|it|is|was|make (?:it|that)|i mean|rather|on|at|by|from|now|the|of|mejor"
    r"|que|es|son|era|digo|quiero decir|el|la|los|las|al|a|de|del|d[ií]a|instead|then|pm|am|en"
    r"|de la (?:tarde|mañana|noche))\b",
    re.I,
)
# "At 3 in the afternoon" is not "at 10 in the afternoon".
_PART_OF_DAY = re.compile(
    r"^\s(?:de la (?:mañana|tarde|noche)|in the (?:morning|afternoon|evening))\b", re.I
)
_SAME = re.compile(
    r"[\s,.;(]*\b(?:(?:still )?(?:at )?(?:the )?same (?:time|place|hour|day)(?: and place)?"
    r"|(?:a |en )?(?:la |el )?mism[oa] (?:hora|sitio|lugar|d[ií]a))\W*$",
    re.I,
)
_OF_PEOPLE = "".join(rf"(?<!\b{who} )" for who in ("i", "we", "he", "she", "they", "i've", "we've"))
_MOVES = re.compile(
    rf"\b(?:(?:is|are|it's|its|be) now|now (?:on |at |the |{_ANY_DAY}|\d|it's)|now\W*$"
    rf"|{_OF_PEOPLE}moved|mov(?:e|ing) (?!to\b|in\b|out\b|on\b)[\w ]{{1,20}}? to|reschedul\w+"
    r"|chang(?:ed|ing) (?:to|the (?:time|day|date)|[\w ]{1,20}? to)|been changed"
    r"|shifted\b|shift (?:it|the|that|our|my)\b|push(?:ed)? (?:back|to)|brought forward"
    r"|bring forward|postponed|put (?:back|off)|switched to"
    r"|ahora (?:es|son|ser[aá]n?|toca|va|el|los|a las|\w+a)"
    r"|cambi(?:aron|ado|ó|amos|an?|o de planes)|pas(?:a|ó|o|aron|ado) (?:a|al|para)"
    r"|mov(?:ió|ieron|ido)|aplaz\w+"
    r"|adelant\w+|retras\w+|pospo\w+|pospu\w+|sino (?:el|a las|los)|al final (?:es|el|son|los))",
    re.I,
)

_GIVES_BACK = re.compile(
    r"\b(?:brought|gave|dropped|handed|sent|paid)\b[^.!?]{0,40}\bback\b|\breturned\b"
    r"|\bgave (?:me|us) (?:the|my|our|all the|back the) (?:\w+ )?(?:money|cash)\b"
    r"|\b(?:me|nos) (?:deposit(?:ó|o|aron)|transfiri(?:ó|o|eron)) lo que (?:me|nos) deb[ií]an?\b"
    r"|\bI(?:['’]ve| have)? paid (?!for\b|the\b|my\b|our\b|an?\b|\d|off\b)[^\W\d]\w+"
    r"|\bpaid (?:up|me|us|him|her|them|off)\b|\b(?:we['’]?re|are|now) (?:square|even)\b"
    r"|\b(?:me|nos|le|les) (?:ha |han |he )?(?:devuelto|devolvi(?:ó|o|eron)|devolví)"
    r"|\b(?:ya )?(?:me|nos|le) (?:ha |han |he )?(?:pag(?:ó|o|aron|ué|ue|ado))\b",
    re.I,
)
# "Krakow is OFF", "they called off the wedding", "se canceló el concierto", "ya no vamos a Vigo"
_CALLS_OFF = re.compile(
    r"\b(?:is|are|['’]s|was|got|been|be) (?:all |now |definitely )?"
    r"(?:off(?= now\b|\W*$)|(?:cancel+ed|called off|scrapped))\b"
    r"|\bcall(?:ed|ing) (?:it |[^.!?,]{0,30} )?off\b|\bcancel+ed (?:the|our|my)\b"
    r"|\bse (?:ha |han )?(?:cancel(?:ó|o|aron|ado)|suspend(?:ió|ieron|ido))\b"
    r"|\b(?:cancelamos|cancelaron|cancelé) (?:el|la|los|las|lo)\b|\b(?:hemos|han|he) cancelado\b"
    r"|\b(?:had|have|has) to drop (?!off\b|by\b|in\b)|\b(?:gave|given|giving) up (?:on )?\w"
    r"|\bya no (?:voy|vamos|va|van|iremos|vienen?|hay)\b"
    r"|\b(?:not|no longer) going (?:on|to (?:the|our|my|that|(?-i:[A-Z])\w+))\b",
    re.I,
)
_PLANNED = re.compile(
    r"\b(?:trip|flights?|fly(?:ing)?|holidays?|cruise|wedding|party|concert|gig|match|appointment"
    r"|book(?:ed|ing)|going to|plan\w*|visit\w*|tickets?|meeting|course|class|viaj\w+|vuelos?"
    r"|vacaciones|boda|fiesta|concierto|partido|reserv\w+|va a|van a|voy a|vamos a|ir a|cita"
    r"|entradas|reuni[oó]n|curso|clase)\b",
    re.I,
)
_PART = re.compile(r"[,;:]\s+|\s+[-–—]+\s+")
_LEADS = re.compile(r"^(?:so|and|but|well|anyway|ok|oh|y|pero|pues|así que|bueno)\s+", re.I)
_LENT = re.compile(
    r"\b(?:lent|loaned|borrowed|owes?)\b|\bgave \w+ [£$€]?\d+|\b(?:le|les|me|nos)(?: he| ha| han)?"
    r" (?:prest\w+|dej(?:é|ó|ado|aron)|debe)\b|\bprestad[oa]\b",
    re.I,
)

# "The key is in the can": what it is, and where.
_KEPT = re.compile(
    r"(?P<what>.*?\b(?:is|are|['’]s|['’]re|est[aá]n?))\s+(?P<where>(?:now |ahora )?"
    r"(?:in|on|under|behind|inside|next to|at|en|debajo|detr[aá]s|encima|dentro|arriba|abajo)\b.+)",
    re.I | re.S,
)
# "Ya no está en la lata, la pasé al bolsillo": where it was, and where it was put.
_NO_LONGER = re.compile(
    r"\b(?:ya )?no est[aá]n? [^,;.]+[,;.]\s*|(?:\b(?:is|are) not|n['’]t) (?:in|on|under|at|behind)"
    r" [^,;.]+[,;.]\s*",
    re.I,
)
_PUT_INTO = re.compile(
    r"\b(?:l[oa]s? )?(?:pas[eé]|mov[ií]|puse|cambi[eé]|dej[eé]|guard[eé]) (?:a|en)(?P<article>l| )"
    r"(?P<where>.+)",
    re.I | re.S,
)
_PUT_ELSEWHERE = re.compile(r"\b(?:moved|changed|put|cambi[eé]|mov[ií]|puse|pas[eé])\b", re.I)


class Times(NamedTuple):
    """Where in a text its days of the week, dates and hours stand."""

    days: list[re.Match]
    dates: list[re.Match]
    clocks: list[re.Match]


def times_in(text: str) -> Times:
    found = []
    for pattern in (_CLOCK, _DATE, _DAYS):
        several = list(pattern.finditer(text))
        for one in several:
            text = text[: one.start()] + "\0" * (one.end() - one.start()) + text[one.end() :]
        found.append(several)
    clocks, dates, days = found
    return Times(days, dates, clocks)


def has_time(text: str) -> bool:
    return any(times_in(text))


def moves(said: str) -> bool:
    """Whether the words say that something has another time now; "I moved on Friday" does not."""
    return says_moved(said) and has_time(said)


def says_moved(said: str) -> bool:
    return bool(_MOVES.search(said))


def is_of_move(said: str) -> bool:
    """Whether the words only tell of a move: that there was one, or to when."""
    return says_moved(said) or has_time(said)


def put_elsewhere(said: str) -> bool:
    """Whether the words tell that something is kept in another place now."""
    now = _NO_LONGER.sub("", said)
    return bool(_PUT_ELSEWHERE.search(now) and (_KEPT.search(now) or _PUT_INTO.search(now)))


def is_kept(fact: str) -> bool:
    return bool(_KEPT.match(fact))


def kept_at(fact: str, said: str) -> str:
    """Return the fact with the place that the words name."""
    left = _NO_LONGER.sub("", said)
    held, now, into = _KEPT.match(fact), _KEPT.search(left), _PUT_INTO.search(left)
    if held and now:
        return f"{held['what']} {now['where'].rstrip('.! ')}"
    where = f"en {'el ' * (into['article'] == 'l')}{into['where'].strip()}" if into else ""
    return f"{held['what']} {where.rstrip('.! ')}" if held and where else ""


def endings(said: str) -> list[tuple[str, Callable[[str], bool]]]:
    """The parts of a sentence that tell an end, each with the test of what it may be the end of.

    Something came back that was lent, or will not be that was planned.
    """
    found: list[tuple[str, Callable[[str], bool]]] = []
    if _GIVES_BACK.search(said):
        found.append((said, was_lent))
    parts = [_LEADS.sub("", part).strip() for part in _PART.split(said)]
    return [*found, *((part, was_planned) for part in parts if _CALLS_OFF.search(part))]


def was_lent(fact: str) -> bool:
    return bool(_LENT.search(fact)) and not _GIVES_BACK.search(fact)


def was_planned(fact: str) -> bool:
    is_plan = _PLANNED.search(fact) or has_time(fact)
    return bool(is_plan) and not _CALLS_OFF.search(fact)


def without_same(said: str) -> str:
    """Return the words without "same time" at their end."""
    return _SAME.sub("", said)


def names_only_times(said: str) -> bool:
    """Whether the words name a time and nothing else: "it's Thursday at 5"."""
    rest = said
    for one in sorted((one for kind in times_in(said) for one in kind), key=lambda one: -one.end()):
        rest = f"{rest[: one.start()]} {rest[one.end() :]}"
    return has_time(said) and not re.search(r"\w", _GLUE.sub(" ", rest))


def retimed(fact: str, said: str) -> str:
    """Return the fact at the time that the words name; empty when they name none of its kind."""
    had, has = times_in(fact), times_in(said)
    changes = [
        (old[0], _value(old[0], fresh[0]))
        for old, new in zip(had, has, strict=True)
        # "Not the 12th but the 14th" names the old one, too.
        if len(old) == 1 and (fresh := [one for one in new if _may_replace(old[0], one)])
    ]
    # A date instead of the day of the week, or the other way round.
    if has.dates and not has.days and len(had.days) == 1 and not had.dates:
        changes.append((had.days[0], f"{_article(said, has.dates[0])}{has.dates[0][0]}"))
    if has.days and not has.dates and len(had.dates) == 1 and not had.days:
        changes.append((had.dates[0], has.days[0][0]))
    told = fact
    for old, new in sorted(changes, key=lambda one: -one[0].start()):
        told = told[: old.start()] + new + _PART_OF_DAY.sub("", told[old.end() :], count=1)
    return told if told != fact else ""


def is_about_same(fact: str, said: str, *, names: Iterable[str] = ()) -> int:
    """Return how many words of meaning both share; 0 when that is only a name."""
    shared = topic(fact) & topic(without_same(said))
    return len(shared) if len(shared) > 1 or shared - stems(" ".join(names)) else 0


def topic(text: str) -> set[str]:
    """Return the stems of what it is about, without its times."""
    bare = text
    for kind in times_in(text):
        for one in kind:
            bare = bare.replace(one[0], " ")
    return stems(" ".join(word for word in words(bare) if fold(word) not in {*WEEKDAYS, *MONTHS}))


def _may_replace(old: re.Match, new: re.Match) -> bool:
    """Another one, and not one for several: nobody says which of them is meant."""
    count_old, count_new = (len(_ONE_DAY.findall(one[0])) for one in (old, new))
    return fold(new[0]) not in fold(old[0]) and (count_old < 2 or count_new > 1)


def _value(old: re.Match, new: re.Match) -> str:
    """The new time; the month stays where only the day is said."""
    number = _NUMBER.search(new[0])
    if number and _HAS_MONTH.search(old[0]) and not _HAS_MONTH.search(new[0]):
        return _NUMBER.sub(number[0], old[0], count=1)
    return new[0]


def _article(said: str, date: re.Match) -> str:
    before = re.search(r"\b(the|el)\s+$", said[: date.start()], re.I)
    return f"{before[1].lower()} " if before else ""
