"""A fact or a message taken apart, so that two of them can be compared claim by claim."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from memory.calendar.words import MONTHS, WEEKDAYS
from memory.extraction import concepts
from memory.extraction.quantities import NUMBER_WORDS, Quantities, quantities
from memory.text.normalise import STOP_WORDS, fold, stem, words

# Words a fact adds to a saying without claiming anything new.
_ADDED = """
user users usuario usuaria author person persona group grupo team equipo name nombre says said dice
dijo wants goes called named llama llamen llamado llamada preference preferences preferencia style
estilo communication comunicacion pattern patterns note rule regla fact hecho habit currently
actualmente now ahora usually plan plans planning planea around about approximately instead also
favorite favourite active activo activa activity phrase phrases uses using use usa each every cada
way kind type old severe severely very really extremely highly strongly deeply muy bastante
st nd rd th university universidad college street calle
"""
FRAME = frozenset(map(fold, [*STOP_WORDS["en"], *STOP_WORDS["es"], *_ADDED.split()]))
_UNIT = re.compile(r"(?<!\w)(\d+)([a-z]{1,5})\b")
_NAME = re.compile(r"(?<=[\w,:;&/(-]\s)[A-ZÀ-ÝА-Я][\w'’-]*|(?<![\w'’-])[A-ZÀ-Ý]{2,}(?!\w)")
_NUMERIC_DATE = re.compile(r"\b(?:\d{1,2}/(\d{1,2})|\d{4}-(\d\d)-\d\d)\b")


@dataclass(frozen=True)
class Statement:
    """The text, and whose names in it are no claims: the speaker's."""

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
        return [bare(word) for word in words(_UNIT.sub(r"\1 \2", self.folded))]

    @cached_property
    def quantities(self) -> Quantities:
        return quantities(self.text)

    @cached_property
    def dates(self) -> set[str]:
        """Months and weekdays, in either language."""
        found = {date for word in self.words if (date := calendar_day(word))}
        months = (m[1] or m[2] for m in _NUMERIC_DATE.finditer(self.folded))
        return found | {f"month {int(number)}" for number in months}

    @cached_property
    def labels(self) -> list[tuple[int, int, set[str]]]:
        """(place, number of words, concepts) of what the concepts know."""
        return list(concepts.labels(self.words))

    @cached_property
    def concepts(self) -> set[str]:
        found = {label for _place, _size, several in self.labels for label in several}
        return found | concepts.of_night() if self.quantities.is_night else found

    @cached_property
    def strict(self) -> set[str]:
        """People, places and members of closed sets: nothing else can stand for them."""
        return {label for label in self.concepts if concepts.kind(label) in concepts.STRICT}

    @cached_property
    def names(self) -> set[str]:
        """Capitalised words inside it, unless the concepts know them or they are the speaker's."""
        found = {bare(fold(part)) for name in _NAME.findall(self.text) for part in words(name)}
        known = {
            self.words[place + offset]
            for place, size, several in self.labels
            for offset in range(size)
            if any(concepts.kind(label) in concepts.STRICT for label in several)
        }
        found -= known | self.speaker | FRAME
        return {name for name in found if not (_is_number(name) or calendar_day(name))}

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
    """ "month 3" or "day 0"; empty for any other word. "May" and "mar" are left to the reader."""
    if (len(word) > 3 and word in MONTHS) or word == "may":
        return f"month {MONTHS[word]}"
    for day in (word, word.removesuffix("s")):
        if len(day) > 3 and day in WEEKDAYS:
            return f"day {WEEKDAYS[day]}"
    return ""


def _is_number(word: str) -> bool:
    return word[:1].isdigit() or word in NUMBER_WORDS
