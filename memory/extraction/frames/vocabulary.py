"""Words that mean one thing in both languages, set phrases, and the slots that they fill."""

import re
from collections import defaultdict
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from memory.extraction.grammar.sentences import data_beside
from memory.text.normalise import STOP_WORDS, fold, stem

FILE = Path(__file__).with_name("vocabulary.txt")
TOOLS = frozenset(
    {
        "package manager", "editor", "browser", "operating system", "phone model", "database",
        "shell", "host", "framework", "python tool", "note app", "chat app", "music app",
        "programming language",
    }
)  # fmt: skip
_DATA = data_beside(Path(__file__).with_name("phrases.txt"))
_OPPOSITES = {frozenset(pair.replace("_", " ").split("=")) for pair in _DATA.opposites}
# Of each of these classes a statement names one.
_ONE_OF = ("day", "month", "season", "colour")
_WORD = re.compile(r"\d(?:[\w.:,/-]*\w)?|[^\W\d_](?:[\w'+#-]*[\w+#])?(?:\.[a-z]+)?")
_INFLECTED = ("s", "ing", "ed")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th|o|a|ro|er)$")
_POSSESSIVE = re.compile(r"'s?$")
_STOPS = frozenset(fold(word) for words in STOP_WORDS.values() for word in words) | {
    "years", "year", "old", "anos", "ano", "approximately", "around", "aprox", "del", "user",
    "usuario", "usuaria",
}  # fmt: skip


@cache
def entries() -> list[tuple[str, list[str]]]:
    """Return the class of each entry, and its words; all mean the first."""
    text = re.sub(r"^#.*$", "", FILE.read_text("utf-8"), flags=re.MULTILINE)
    return [
        (name, [word for part in re.split("[=,]", entry) if (word := part.strip())])
        for name, block in re.findall(r"\[([^\]]+)\]([^\[]*)", text)
        for entry in " ".join(block.split()).split(";")
    ]


@cache
def _vocabulary() -> tuple[dict[str, str], dict[str, set[str]], re.Pattern]:
    """Return canonical words by word or phrase, classes by canonical word, a pattern of phrases."""
    canonical: dict[str, str] = {}
    classes: dict[str, set[str]] = defaultdict(set)
    for name, (word, *others) in entries():
        classes[word].add(name)
        for other in (word, *others):
            canonical.setdefault(other, word)
    phrases = sorted((word for word in canonical if " " in word), key=len, reverse=True)
    return canonical, classes, re.compile(rf"\b(?:{'|'.join(map(re.escape, phrases))})s?\b")


@lru_cache(maxsize=8192)
def terms(text: str) -> frozenset[str]:
    """Return the words of the text that mean something, the same for "blue" and "azul"."""
    return frozenset(in_order(text) or filter(None, tokens(text)))


def tokens(text: str) -> list[str]:
    """Return the words in order, without accents and possessives; a known phrase is one word."""
    vocabulary, _classes, phrases = _vocabulary()

    def join(match: re.Match) -> str:
        known = vocabulary.get(match[0]) or vocabulary.get(match[0].removesuffix("s"), match[0])
        return known.replace(" ", "_")

    joined = phrases.sub(join, fold(text).replace("’", "'"))
    return [_POSSESSIVE.sub("", word).strip(".,:/-") for word in _WORD.findall(joined)]


def in_order(text: str) -> list[str]:
    """Return the terms in the order of the text."""
    return [meaning for word in tokens(text) if (meaning := canonical(word))]


@lru_cache(maxsize=16384)
def canonical(word: str) -> str:
    """Return one word for all that mean the same; empty for one that only holds others together."""
    vocabulary, _classes, _phrases = _vocabulary()
    for form in _singulars(word):
        if form in vocabulary:
            return vocabulary[form]
    if "_" in word:
        return word.replace("_", " ")
    if ordinal := _ORDINAL.fullmatch(word):
        return ordinal[1]
    if word in _STOPS:
        return ""
    # Names keep their ends: a stem would make one person of María and Mario.
    return stem(word, "en") if word.endswith(_INFLECTED) else word


def classes(term: str) -> set[str]:
    """Return what kind of thing a canonical word names: colour, city, pet, editor …"""
    return _vocabulary()[1].get(term, set())


def are_all(words: Set[str], *names: str) -> bool:
    """Return whether every term belongs to one of the classes."""
    return bool(words) and all(classes(term) & set(names) for term in words)


def are_opposite(word: str, other: str) -> bool:
    """Return whether two canonical words exclude each other: short and long, Monday and Friday."""
    if frozenset((word, other)) in _OPPOSITES:
        return True
    return word != other and any(
        name in classes(word) and name in classes(other) for name in _ONE_OF
    )


def tool_class(words: frozenset[str]) -> str:
    """Return what a known tool is used as ("editor"), when the words name one and little else."""
    named = [kind for term in sorted(words) for kind in classes(term) & TOOLS]
    rest = [term for term in words if not classes(term) & TOOLS and not term[0].isdigit()]
    return named[0] if named and len(rest) <= 1 else ""


def attribute_name(text: str) -> str:
    """Name an attribute in one language: "gestor de paquetes" is "package manager"."""
    return " ".join(sorted(terms(text)))


def _singulars(word: str) -> list[str]:
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    cut = [word.removesuffix(end) + new for end, new in endings if word.endswith(end)]
    return [word.replace("_", " "), *cut]


def phrase(name: str) -> re.Pattern:
    """Return the pattern of that name."""
    return getattr(_DATA, name)


def begins(name: str, text: str) -> bool:
    return phrase(name).match(text) is not None


def holds(name: str, text: str) -> bool:
    return phrase(name).search(text) is not None


NOBODY = ""
# The sorts of a value that say when.
WHEN = frozenset({"time", "day", "month"})


@dataclass(frozen=True)
class Slot:
    """What one clause fills: `whose` are the words before the verb, still to be understood."""

    # "home", "favourite:editor", "likes:cat".
    key: str
    value: str
    terms: frozenset[str]
    whose: str = NOBODY
    sign: int = 1
    ended: bool = False
    exclusive: bool = True
    # One value at a time only where a change is told or a mistake is corrected.
    weak: bool = False
    changed: bool = False
    replaced: frozenset[str] = frozenset()
    # Where in the clause the value begins.
    start: int = 0
    # What sort of value it is, where only values of one sort exclude each other.
    sort: str = ""


@dataclass(frozen=True)
class Match:
    """A rule that fits a clause: its flags and its groups."""

    flags: frozenset[str]
    groups: dict[str, str | None]
    # The clause has no capitals: its names cannot be told by them.
    lower: bool
    start: int = 0

    def __getitem__(self, name: str) -> str:
        return (self.groups.get(name) or "").strip()

    @property
    def value(self) -> str:
        return phrase("about").sub("", trim(self["v"]))

    @property
    def replaced(self) -> frozenset[str]:
        return terms(self["o"]) if self["o"] else frozenset()

    def slot(self, key: str, value: str | None = None, **more: Any) -> Slot:
        """Make the slot, with what the flags of the rule say about it."""
        value = self.value if value is None else value
        slot = Slot(
            key,
            value,
            terms(value) if value else frozenset(),
            whose=self["s"],
            sign=-1 if "not" in self.flags else 1,
            ended="past" in self.flags,
            changed="change" in self.flags,
            replaced=self.replaced,
            start=self.start,
        )
        return replace(slot, **more)


def trim(value: str) -> str:
    """Cut off what only says since when, why or with whom."""
    return phrase("tail").sub("", f" {value.strip()}").strip(" .!…:'\"-")
