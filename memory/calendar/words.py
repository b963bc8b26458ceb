"""The words of the calendar and how a text is read for them: folded letters, numbers, tenses.

No parser: the tense is told by forms that English and Spanish write only for the past, the future
or the present. The first form of tense.txt that fits a place takes it.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memory.guards import rulebook


def _table(*rows: str, start: int = 0) -> dict[str, int]:
    return {word: number for number, row in enumerate(rows, start) for word in row.split()}


def any_of(words: Iterable[str]) -> str:
    """Return the alternatives of a pattern, longest first, spaces as loose as people type them."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(word.replace(" ", r"[\s-]+") for word in ordered) + ")"


# Common typing slips are listed where no other word looks like them.
MONTHS = _table(
    "january enero janurary",
    "february febrero febuary feburary",
    "march marzo",
    "april abril",
    "may mayo",
    "june junio",
    "july julio",
    "august agosto",
    "september septiembre setiembre sept",
    "october octubre",
    "november noviembre novembre",
    "december diciembre",
    start=1,
)
SHORT_MONTHS = _table(
    "jan ene",
    "feb",
    "mar",
    "apr abr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep sept",
    "oct",
    "nov",
    "dec dic",
    start=1,
)
WEEKDAYS = _table(
    "monday lunes",
    "tuesday martes tues",
    "wednesday miercoles wensday wednsday weds",
    "thursday jueves thursdy thurday thrusday thurs thur juevez",
    "friday viernes vierns",
    "saturday sabado savado",
    "sunday domingo",
)
# "sun", "sat", "mon" and "wed" are other words too: they count only beside a word that says so.
SHORT_WEEKDAYS = _table("mon lun", "tue", "wed mie", "thu jue", "fri vie", "sat sab", "sun dom")
SEASONS = _table(
    "spring springtime primavera",
    "summer summertime verano",
    "autumn fall otono",
    "winter wintertime invierno",
)


def _numbers(words: str, *, start: int = 1) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), start)}


_EN = _numbers(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
_EN |= {f"twenty {word}": 20 + _EN[word] for word in list(_EN)[:9]}
_EN |= {"thirty": 30, "thirty one": 31, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70}
_ES = _numbers(
    "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis"
    " diecisiete dieciocho diecinueve veinte veintiuno veintidos veintitres veinticuatro"
    " veinticinco veintiseis veintisiete veintiocho veintinueve treinta"
)
_ES |= {"veintiun": 21, "treinta y uno": 31, "treinta y un": 31}
_ES |= {"cuarenta": 40, "cincuenta": 50, "sesenta": 60, "setenta": 70}
NUMBERS = _EN | _ES
# Before a unit of time: "a week ago", "un par de semanas", "a few days".
AMOUNTS = NUMBERS | {
    **dict.fromkeys(("a", "an", "un", "una"), 1),
    **dict.fromkeys(("a couple of", "a couple", "couple of", "couple", "un par de", "par de"), 2),
    **dict.fromkeys(("a few", "few", "several", "unos", "unas", "unos pocos", "algunos"), 3),
    **dict.fromkeys(("unos cuantos", "unas cuantas", "unas pocas", "algunas"), 3),
}
_ORDINAL = _numbers(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_ORDINAL |= {f"twenty {word}": 20 + _ORDINAL[word] for word in list(_ORDINAL)[:9]}
ORDINALS = _ORDINAL | {"thirtieth": 30, "thirty first": 31, "primero": 1, "1ero": 1, "1ro": 1}
RANKS = {
    **{"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1},
    **{"1st": 1, "2nd": 2, "3rd": 3, "4th": 4},
    **{"primera": 1, "segunda": 2, "tercera": 3, "cuarta": 4, "ultima": -1},
    **{"primer": 1, "segundo": 2, "tercer": 3, "cuarto": 4, "ultimo": -1},
}
UNITS = {
    **dict.fromkeys(("day", "days", "dia", "dias"), "day"),
    **dict.fromkeys(("week", "weeks", "wk", "wks", "semana", "semanas"), "week"),
    **dict.fromkeys(("month", "months", "mo", "mos", "mes", "meses"), "month"),
    **dict.fromkeys(("year", "years", "yr", "yrs", "ano", "anos"), "year"),
    **dict.fromkeys(("fortnight", "fortnights", "quincena", "quincenas"), "fortnight"),
    **dict.fromkeys(("decade", "decades", "decada", "decadas"), "decade"),
}

MONTH = any_of(MONTHS)
ANY_MONTH = any_of({**MONTHS, **SHORT_MONTHS})
WEEKDAY = any_of(WEEKDAYS)
ANY_WEEKDAY = any_of({**WEEKDAYS, **SHORT_WEEKDAYS})
SEASON = any_of(SEASONS)
UNIT = any_of(UNITS)
AMOUNT = r"(?:\d{1,3}|" + any_of(AMOUNTS) + ")"
YEAR = r"(?:19|20)\d\d"
# Where none of these stands, and no digit, no time is named.
TIME_WORDS = {
    *MONTHS,
    *SHORT_MONTHS,
    *WEEKDAYS,
    *SHORT_WEEKDAYS,
    *SEASONS,
    *UNITS,
    *(
        "today tomorrow tomorow tommor tomorr tmrw tmr tmw yesterday yday night nite "
        "tonight tonite morning afternoon evening lunchtime weekend wknd hoy ayer "
        "anteayer antier antesdeayer manana tarde noche anoche anteanoche antenoche "
        "antiayer madrugada finde pasadomanana overmorrow noon midday mediodia christmas "
        "xmas navidad easter pascua halloween thanksgiving reyes new nochebuena boxing "
        "nochevieja valentine valentines san holy palm maundy good black cyber daily "
        "weekly fortnightly biweekly bi monthly yearly annually nightly diario "
        "diariamente semanalmente mensualmente anualmente once twice una dos media cuarto "
        "o'clock oclock ocho quince each every cada"
    ).split(),
}


def number(word: str) -> int:
    """Return the number that a word or digits with an ending ("3rd", "veintiuno") stand for."""
    plain = " ".join(word.replace("-", " ").split())
    known = AMOUNTS.get(plain) or ORDINALS.get(plain) or RANKS.get(plain)
    return known or int("".join(c for c in plain if c.isascii() and c.isdigit()))


def month_number(word: str) -> int:
    return MONTHS.get(word) or SHORT_MONTHS[word]


def weekday_number(word: str) -> int:
    return WEEKDAYS[word] if word in WEEKDAYS else SHORT_WEEKDAYS[word]


# A capital in mid sentence: a name, not a verb form, even if it ends like one ("Chiloé").
_NAME = re.compile(r"(?<=[\w,;:] )[^\W\d_a-zñ][a-záéíóúüñ]{2,}")


@dataclass(frozen=True)
class Folded:
    """Lower case without accents (`plain`) and with them (`spoken`), as long as each other.

    `places` holds for every letter the index of its letter in the original.
    """

    plain: str
    spoken: str
    places: list[int]
    original: str

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch of the plain text stands in the original."""
        last = self.places[end - 1] + 1
        while last < len(self.original) and unicodedata.combining(self.original[last]):
            last += 1
        return self.places[start], last

    @cached_property
    def without_names(self) -> str:
        """The spoken text with names blanked out, for looking at its verbs."""
        masked = list(self.spoken)
        written = "".join(self.original[place] for place in self.places)
        for hit in _NAME.finditer(written):
            masked[hit.start() : hit.end()] = "_" * (hit.end() - hit.start())
        return "".join(masked)


def fold(text: str) -> Folded:
    if text.isascii():
        return Folded(text.lower(), text.lower(), list(range(len(text))), text)
    plain: list[str] = []
    spoken: list[str] = []
    places: list[int] = []
    for index, char in enumerate(text):
        if unicodedata.combining(char):
            if spoken and places[-1] == index - 1:
                spoken[-1] = _composed(spoken[-1], char)
            continue
        lower = char.lower()
        base = unicodedata.normalize("NFD", lower)[:1]
        plain.append({"’": "'", "‘": "'"}.get(base, base))
        spoken.append({"’": "'", "‘": "'"}.get(lower, lower if len(lower) == 1 else base))
        places.append(index)
    return Folded("".join(plain), "".join(spoken), places, text)


def _composed(letter: str, mark: str) -> str:
    whole = unicodedata.normalize("NFC", letter + mark)
    return whole if len(whole) == 1 else letter


def _forms(language: str) -> list[tuple[str, re.Pattern]]:
    rules = rulebook.read(Path(__file__).with_name("tense.txt"))
    named = [(name.split("/"), pattern) for name, pattern in rules]
    return [(tense, re.compile(pattern)) for (of, tense), pattern in named if of == language]


FORMS = {language: _forms(language) for language in ("en", "es")}
_SENTENCE_END = re.compile(r"[.!?…;]+(?=\s|$)|\n")
_CLAUSE_END = re.compile(
    r"[,:()\"“”«»]|\s[-–—]+\s|\b(?:and|but|so|because|cos|when|while|which|that|then|y|pero"
    r"|porque|xq|pq"
    r"|cuando|mientras|aunque|entonces|que|q)\b"
)
# A clause with so few longer words beside its date has no verb of its own: "On Friday, we met".
SHORT_CLAUSE = 1
# A verb further away, in a text without full stops, belongs to something else.
REACH = 160


# "By the first Sunday of June": what counts is the word before the part.
_WITHIN = (
    r"(?:(?:the|el|la|like|about|around|como)\s+)*(?:(?:early|mid|late"
    r"|(?:\w+\s+)?(?:\w+)\s+(?:of|del?))"
    r"[\s-]+(?:the\s+|el\s+)?)?$"
)
_FORWARD = re.compile(
    rf"\b(?:for|by|before|due|due\s+(?:on|in)|to|para|al|antes\s+del?)\s+{_WITHIN}"
)
_ENDS = re.compile(rf"\b(?:until|till|til|hasta)\s+{_WITHIN}")
_LOOKS_BACK = re.compile(rf"\b(?:since|desde)\s+{_WITHIN}|\bsince(?:\s+\w+){{1,4}}\s+(?:in|of)\s+$")
_HOUR_AFTER = re.compile(r"\s+(?:a\s+las?|at)\s+\w")


def tense_at(text: str, plain: str, start: int, end: int, *, language: str) -> str:
    """Return the tense in which the words from `start` to `end` are said, or "" if nothing tells.

    `text` keeps its accents and has no names, `plain` is folded; both have the same places.
    """
    verb, own = _verb_at(text, start, end, language)
    before = plain[max(0, start - 60) : start]
    if _FORWARD.search(before) or (verb == "perfect" and _ENDS.search(before)):
        return "future"  # "booked for Easter", "they've lent it to us until Easter"
    if (verb == "either" or not own) and _HOUR_AFTER.match(plain, end):
        return "present"
    since = _LOOKS_BACK.search(before)
    if since and (verb != "future" or since.group().startswith("since")):
        return "past"  # "I'm walking again since Sunday", but "desde el lunes trabajaré en casa"
    return verb


def _verb_at(text: str, start: int, end: int, language: str) -> tuple[str, bool]:
    """Return the tense of the nearest verb, and whether it stands in the same clause."""
    forms = FORMS.get(language) or FORMS["en"] + FORMS["es"]
    left, right = max(0, start - REACH), min(len(text), end + REACH)
    left, right = _bounds(_SENTENCE_END, text, start, end, left, right)
    near = _bounds(_CLAUSE_END, text, start, end, left, right)
    verb = _nearest(forms, text, start, end, *near)
    rest = text[near[0] : start] + text[end : near[1]]
    if verb or len([word for word in rest.split() if len(word) > 3]) > SHORT_CLAUSE:
        return verb, True
    return _nearest(forms, text, start, end, left, right), False


def _bounds(
    mark: re.Pattern, text: str, start: int, end: int, left: int, right: int
) -> tuple[int, int]:
    """Return where the stretch around an expression begins and ends, cut at every mark."""
    for hit in mark.finditer(text, left, start):
        left = hit.end()
    after = mark.search(text, end, right)
    return left, after.start() if after else right


def _nearest(
    forms: list[tuple[str, re.Pattern]], text: str, start: int, end: int, left: int, right: int
) -> str:
    """Return the tense of the nearest form; what stands before the expression counts first."""
    found: list[tuple[int, int, str]] = []
    for tense, pattern in forms:
        for hit in pattern.finditer(text, left, right):
            inside = hit.end() > start and hit.start() < end
            if not inside and not any(hit.start() < b and a < hit.end() for a, b, _ in found):
                found.append((*hit.span(), tense))
    before = [(start - b, tense) for _, b, tense in found if b <= start]
    after = [(a - end, tense) for a, _, tense in found if a >= end]
    near = [tense for _, tense in sorted(before) + sorted(after)]
    if near and near[0] == "either":
        # It goes with the next one that is sure; "en enero abrimos" is rather a plan.
        sure = next((tense for tense in near if tense != "either"), "")
        return sure or ("either" if before else "present")
    return near[0] if near else ""
