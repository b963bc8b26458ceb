"""The words of the calendar, the patterns made of them, folded text and the tense of verbs.

There is no parser: the tense follows from forms that English and Spanish write only for the past,
the future or the present. The first form of tense.txt that fits a place takes it.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memory.calendar.spans import HOLIDAYS, HOLY_DAYS, Moment, Reading
from memory.guards import rulebook

_TABLES = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


def _table(name: str) -> dict[str, int]:
    """Return a table of words.toml as {word: number}."""
    return {word: int(key) for key, words in _TABLES[name].items() for word in words.split(", ")}


def any_of(words: Iterable[str]) -> str:
    """Return the alternatives of a pattern, longest first, spaces as loose as people type them."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(word.replace(" ", r"[\s-]+") for word in ordered) + ")"


MONTHS = _table("months")
SHORT_MONTHS = _table("short_months")
WEEKDAYS = _table("weekdays")
SHORT_WEEKDAYS = _table("short_weekdays")
SEASONS = _table("seasons")
NUMBERS = _table("numbers")
AMOUNTS = NUMBERS | _table("amounts")
ORDINALS = _table("ordinals")
RANKS = _table("ranks")
DAYS_AWAY = _table("days_away")
UNITS = {word: unit for unit, words in _TABLES["units"].items() for word in words.split(", ")}

MONTH = any_of(MONTHS)
ANY_MONTH = any_of(MONTHS | SHORT_MONTHS)
# Beside the pieces that stand in the files of patterns.
_PIECES = {
    "MONTH": MONTH,
    "ANY_MONTH": ANY_MONTH,
    "WEEKDAY": any_of(WEEKDAYS),
    "SHORT_WEEKDAY": any_of(SHORT_WEEKDAYS),
    "ANY_WEEKDAY": any_of(WEEKDAYS | SHORT_WEEKDAYS),
    "SEASON": any_of(SEASONS),
    "UNIT": any_of(UNITS),
    "AMOUNT": r"(?:\d{1,3}|" + any_of(AMOUNTS) + ")",
    "YEAR": r"(?:19|20)\d\d",
    "RANK": any_of(RANKS),
    "ORDINAL": any_of(ORDINALS),
    "DAY_WORD": any_of(ORDINALS | NUMBERS),
    "DAYS_AWAY": any_of(DAYS_AWAY),
    "HOLIDAY": any_of(HOLIDAYS),
    "HOLY_DAY": any_of(HOLY_DAYS),
    "HOUR_WORD": any_of(word for word, value in NUMBERS.items() if value <= 12) + "|una",
}

Reader = Callable[[re.Match, Moment], Reading | None]
READERS: dict[str, Reader] = {}


def read_patterns(file_name: str) -> list[tuple[str, re.Pattern]]:
    rules = rulebook.read(Path(__file__).with_name(file_name), pieces=_PIECES)
    return [(name, re.compile(pattern)) for name, pattern in rules]


def reads(name: str) -> Callable[[Reader], Reader]:
    """Register a function as the reader of the expressions of this name in expressions.txt."""

    def register(reader: Reader) -> Reader:
        READERS[name] = reader
        return reader

    return register


# What may stand around an expression of time, by name.
CONTEXTS = dict(read_patterns("contexts.txt"))


def preceded(moment: Moment, name: str) -> bool:
    """Tell whether the words of this name in contexts.txt stand before the expression."""
    return bool(CONTEXTS[name].search(moment.before))


def followed(moment: Moment, name: str) -> bool:
    return bool(CONTEXTS[name].match(moment.after))


def number(word: str) -> int:
    """Return the number that a word or digits with an ending ("3rd", "veintiuno") stand for."""
    plain = " ".join(word.replace("-", " ").split())
    value = AMOUNTS.get(plain) or ORDINALS.get(plain) or RANKS.get(plain)
    return value or int("".join(c for c in plain if c.isascii() and c.isdigit()))


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
        """Return the spoken text with names blanked out, for finding its verbs."""
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
    named = [(name.split("/"), pattern) for name, pattern in read_patterns("tense.txt")]
    return [(tense, pattern) for (of, tense), pattern in named if of == language]


FORMS = {language: _forms(language) for language in ("en", "es")}
_SENTENCE_END = re.compile(r"[.!?…;]+(?=\s|$)|\n")
# A clause with so few longer words beside its date has no verb of its own: "On Friday, we met".
SHORT_CLAUSE = 1
# A verb further away, in a text without full stops, belongs to something else.
REACH = 160
_HOUR_AFTER = re.compile(r"\s+(?:a\s+las?|at)\s+\w")


def tense_at(text: str, plain: str, start: int, end: int, *, language: str) -> str:
    """Return the tense in which the words from `start` to `end` are said, or "" if nothing tells.

    `text` keeps its accents and has no names, `plain` is folded; both have the same places.
    """
    verb, own = _verb_at(text, start, end, language)
    before = plain[max(0, start - 60) : start]
    ends = verb == "perfect" and CONTEXTS["ends"].search(before)
    if ends or CONTEXTS["forward"].search(before):
        return "future"  # "booked for Easter", "they've lent it to us until Easter"
    if (verb == "either" or not own) and _HOUR_AFTER.match(plain, end):
        return "present"
    since = CONTEXTS["looks_back"].search(before)
    if since and (verb != "future" or since.group().startswith("since")):
        return "past"  # "I'm walking again since Sunday", but "desde el lunes trabajaré en casa"
    return verb


def _verb_at(text: str, start: int, end: int, language: str) -> tuple[str, bool]:
    """Return the tense of the nearest verb, and whether it stands in the same clause."""
    forms = FORMS.get(language) or FORMS["en"] + FORMS["es"]
    left, right = max(0, start - REACH), min(len(text), end + REACH)
    left, right = _bounds(_SENTENCE_END, text, start, end, left, right)
    near = _bounds(CONTEXTS["clause_end"], text, start, end, left, right)
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
    forms_found: list[tuple[int, int, str]] = []
    for tense, pattern in forms:
        for hit in pattern.finditer(text, left, right):
            inside = hit.end() > start and hit.start() < end
            if not inside and not any(hit.start() < b and a < hit.end() for a, b, _ in forms_found):
                forms_found.append((*hit.span(), tense))
    before = [(start - b, tense) for _, b, tense in forms_found if b <= start]
    after = [(a - end, tense) for a, _, tense in forms_found if a >= end]
    near = [tense for _, tense in sorted(before) + sorted(after)]
    if near and near[0] == "either":
        # It goes with the next one that is sure; "en enero abrimos" is rather a plan.
        sure = next((tense for tense in near if tense != "either"), "")
        return sure or ("either" if before else "present")
    return near[0] if near else ""
