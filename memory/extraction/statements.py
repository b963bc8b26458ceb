"""Take facts and messages apart, so that two of them can be compared claim by claim."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

from memory.calendar.words import MONTHS, WEEKDAYS
from memory.extraction.frames import vocabulary
from memory.extraction.grammar.sentences import data_beside
from memory.text import kinship
from memory.text.normalise import STOP_WORDS, fold, stem, words

_DATA = data_beside(__file__)

# Not "one" and "uno", which are mostly no numbers, nor "once", which is one in English.
_UNITS = """
zero cero||two dos couple par|three tres|four cuatro|five cinco|six seis|seven siete
|eight ocho|nine nueve|ten diez|eleven|twelve doce dozen docena|thirteen trece|fourteen catorce
|fifteen quince|sixteen dieciseis|seventeen diecisiete|eighteen dieciocho|nineteen diecinueve
|twenty veinte|twenty-one veintiuno|twenty-two veintidos
"""
_TENS = "thirty treinta|forty cuarenta|fifty cincuenta|sixty sesenta|seventy setenta|eighty ochenta"
NUMBER_WORDS = {word: n for n, row in enumerate(_UNITS.split("|")) for word in row.split()}
NUMBER_WORDS |= {
    word: 30 + 10 * n for n, row in enumerate(_TENS.split("|")) for word in row.split()
}
NUMBER_WORDS |= {"ninety": 90, "noventa": 90, "hundred": 100, "cien": 100}
NUMBER_WORDS |= {"thousand": 1000, "mil": 1000, "third": 3, "tercer": 3, "tercero": 3, "tercera": 3}
NUMBER_WORDS |= {"fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9}
_WORD = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_PM = r"p\.? ?m\.?|de la (?:tarde|noche)|in the (?:afternoon|evening)|at night"
_AM = r"a\.? ?m\.?|de la (?:manana|madrugada)|in the morning"
_CLOCK = re.compile(
    rf"\b(?P<hour>\d{{1,2}}|{_WORD})(?:[:h.](?P<minute>\d\d))?\s?(?:(?P<pm>{_PM})|(?P<am>{_AM}))(?!\w)"
    r"|\b(?P<hour24>\d{1,2}):(?P<minute24>\d\d)\b"
)
_NUMBER = re.compile(rf"(?<![\w.,])(\d+(?:[.,]\d+)*)(k\b)?|\b({_WORD})\b")


@dataclass(frozen=True)
class Quantities:
    """Plain numbers; times as minutes of the day, those without am and pm among the plain too."""

    numbers: frozenset[float]
    times: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.numbers or self.times)

    @property
    def is_night(self) -> bool:
        """Whether one of the times is between ten in the evening and six in the morning."""
        return any(minutes < 6 * 60 or minutes >= 22 * 60 for minutes in self.times)

    def cover(self, other: "Quantities") -> bool:
        """Return whether every number and time of the other is here, in whatever notation."""
        return all(map(self._has_number, other.numbers)) and all(map(self._has_time, other.times))

    def _has_number(self, number: float) -> bool:
        hours = {minutes // 60 for minutes in self.times if minutes % 60 == 0}
        return number in self.numbers or number in hours or number + 12 in hours

    def _has_time(self, minutes: int) -> bool:
        # "At six" may be six in the evening.
        hour, rest = divmod(minutes, 60)
        return minutes in self.times or (rest == 0 and bool({hour, hour - 12} & self.numbers))


def quantities(text: str) -> Quantities:
    folded, times = fold(text), set()

    def take(match: re.Match) -> str:
        times.add(_minutes(match))
        return " "

    rest = _CLOCK.sub(take, folded)
    numbers = {_value(*match.groups()) for match in _NUMBER.finditer(rest)}
    return Quantities(frozenset(numbers), frozenset(times))


def _minutes(match: re.Match) -> int:
    if match["hour24"]:
        return int(match["hour24"]) * 60 + int(match["minute24"])
    hour = NUMBER_WORDS.get(match["hour"]) or int(match["hour"] if match["hour"].isdigit() else 0)
    hour = hour % 12 + 12 if match["pm"] else hour % 24
    return hour * 60 + int(match["minute"] or 0)


def _value(digits: str | None, thousand: str | None, word: str | None) -> float:
    if word:
        return float(NUMBER_WORDS[word])
    # "1.500" and "1,500" are thousands; "2.5" is not.
    plain = re.sub(r"[.,](?=\d{3}(?!\d))", "", digits).replace(",", ".")
    head, *tail = plain.split(".")
    return float(f"{head}.{''.join(tail)}" if tail else head) * (1000 if thousand else 1)


FILE = Path(__file__).with_name("concepts.txt")
STRICT = ("name", "kin", "one")
# Classes of the vocabulary of frames whose members nothing else may stand for.
_NAMES = ("city", "country", "language", "programming language", "database", "editor")
_OF_CLASS = dict.fromkeys(_NAMES, "name") | dict.fromkeys(("colour", "season"), "one")
MAX_PHRASE_WORDS = 4


@dataclass
class Concepts:
    """What each word or phrase stands for: labels such as "kin:4"."""

    exact: dict[str, set[str]] = field(default_factory=dict)
    prefixes: dict[str, set[str]] = field(default_factory=dict)

    def add(self, word: str, label: str) -> None:
        table = self.prefixes if word.endswith("*") else self.exact
        table.setdefault(word.rstrip("*"), set()).add(label)

    def of(self, phrase: str) -> set[str]:
        found = set(self.exact.get(phrase) or self.exact.get(phrase.removesuffix("s"), ()))
        # An ending is of the last word only.
        for end in range(max(3, phrase.rfind(" ") + 2), len(phrase) + 1):
            found |= self.prefixes.get(phrase[:end], set())
        return found


@cache
def concepts() -> Concepts:
    table = Concepts()
    written = FILE.read_text("utf-8").splitlines()
    lines = [line for line in written if re.match(r"[a-z]+: ", line)]
    for number, line in enumerate(lines):
        kind, _colon, rest = line.partition(": ")
        parts = rest.split(" | ")
        for side, part in enumerate(parts):
            label = f"{kind}:{parts[0] if kind in STRICT else number}"
            if kind == "against":
                label += f":{side}"
            for word in part.split(", ") if kind == "against" else [part]:
                table.add(word.strip(), label)
    for label, words_of_label in _listed_elsewhere():
        for word in words_of_label:
            table.add(word, label)
    return table


def _listed_elsewhere() -> Iterator[tuple[str, Iterable[str]]]:
    """Yield places, languages, colours and kin, each with its label."""
    for name, (first, *others) in vocabulary.entries():
        if name in _OF_CLASS:
            yield f"{_OF_CLASS[name]}:{first}", [first, *others]
    for relation, kin_words in kinship.words_of_relations().items():
        if relation not in _DATA.jobs:
            yield f"kin:{relation}", [fold(word).replace("-", " ") for word in kin_words]


def labels(words: list[str]) -> Iterator[tuple[int, int, set[str]]]:
    """Yield (first word, number of words, labels) of all that stands for something."""
    known, end = concepts(), 0
    for start in range(len(words)):
        for size in range(min(MAX_PHRASE_WORDS, len(words) - start), 0, -1) if start >= end else ():
            if fitting := known.of(" ".join(words[start : start + size])):
                yield start, size, fitting
                # A mother in law is not a mother, and Mexico City is not Mexico.
                end = start + size if any(kind(label) in STRICT for label in fitting) else end
                break


@cache
def of_night() -> set[str]:
    """Return what a time such as 3am stands for."""
    return {label for label in concepts().of("night") if not label.startswith("against")}


def kind(label: str) -> str:
    return label.partition(":")[0]


def opposite(label: str) -> str:
    """Return the other side of an "against" line."""
    line, _colon, side = label.rpartition(":")
    return f"{line}:{1 - int(side)}"


FRAME = frozenset(map(fold, [*STOP_WORDS["en"], *STOP_WORDS["es"], *_DATA.added]))


@dataclass(frozen=True)
class Statement:
    """The text, and the speaker's names, which are not claims."""

    text: str
    speaker: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, *, names: Iterable[str] = ()) -> "Statement":
        return cls(text, frozenset(fold(part) for name in names for part in words(name)))

    @cached_property
    def folded(self) -> str:
        return fold(self.text).replace("’", "'")

    @cached_property
    def words(self) -> list[str]:
        """Folded, without 's, numbers apart from their unit: "4gb" is 4 and gb."""
        return [bare(word) for word in words(_DATA.unit.sub(r"\1 \2", self.folded))]

    @cached_property
    def quantities(self) -> Quantities:
        return quantities(self.text)

    @cached_property
    def dates(self) -> set[str]:
        """Months and weekdays, in either language."""
        dates = {date for word in self.words if (date := calendar_day(word))}
        months = (m[1] or m[2] for m in _DATA.numeric_date.finditer(self.folded))
        return dates | {f"month {int(number)}" for number in months}

    @cached_property
    def labels(self) -> list[tuple[int, int, set[str]]]:
        """(place, number of words, concepts) of what the concepts know."""
        return list(labels(self.words))

    @cached_property
    def concepts(self) -> set[str]:
        found = {label for _place, _size, several in self.labels for label in several}
        return found | of_night() if self.quantities.is_night else found

    @cached_property
    def strict(self) -> set[str]:
        """People, places and members of closed sets: nothing else can stand for them."""
        return {label for label in self.concepts if kind(label) in STRICT}

    @cached_property
    def names(self) -> set[str]:
        """Capitalised words inside it, unless the concepts know them or they are the speaker's."""
        names = {bare(fold(part)) for name in _DATA.name.findall(self.text) for part in words(name)}
        own = {
            self.words[place + offset]
            for place, size, several in self.labels
            for offset in range(size)
            if any(kind(label) in STRICT for label in several)
        }
        names -= own | self.speaker | FRAME
        return {name for name in names if not (_is_number(name) or calendar_day(name))}

    @cached_property
    def content(self) -> list[int]:
        """Places of the words that claim something and are neither number, unit nor date."""
        return [place for place, word in enumerate(self.words) if self._claims(word)]

    @cached_property
    def forms(self) -> set[str]:
        """Its words as they stand and as both languages stem them; neighbours also as one."""
        joined = ["".join(pair) for pair in pairwise(self.words)]
        return {form for word in [*self.words, *joined] for form in stems(word)}

    def _claims(self, word: str) -> bool:
        free = word in FRAME or word in self.speaker or (len(word) < 2 and word.isascii())
        return not (free or _is_number(word) or calendar_day(word))


def bare(word: str) -> str:
    return word.removesuffix("'s")


def stems(word: str) -> set[str]:
    return {word, fold(stem(word, "en")), fold(stem(word, "es"))}


def calendar_day(word: str) -> str:
    """Return "month 3" or "day 0", empty for any other word; "mar" is left to the reader."""
    if (len(word) > 3 and word in MONTHS) or word == "may":
        return f"month {MONTHS[word]}"
    for day in (word, word.removesuffix("s")):
        if len(day) > 3 and day in WEEKDAYS:
            return f"day {WEEKDAYS[day]}"
    return ""


def _is_number(word: str) -> bool:
    return word[:1].isdigit() or word in NUMBER_WORDS
