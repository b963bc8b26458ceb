"""Words that mean one thing in both languages, set phrases, and the slots that they fill."""

import re
from collections import defaultdict
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from memory.guards import rulebook
from memory.text.normalise import STOP_WORDS, fold, stem

FILE = Path(__file__).with_name("vocabulary.txt")
TOOLS = frozenset(
    {
        "package manager", "editor", "browser", "operating system", "phone model", "database",
        "shell", "host", "framework", "python tool", "note app", "chat app", "music app",
        "programming language",
    }
)  # fmt: skip
_PAIRED = (
    "left right", "open closed", "morning evening", "morning afternoon", "morning late",
    "before after", "son daughter", "brother sister", "mother father", "husband wife", "buy sell",
    "bought sold", "won lost", "first last", "early late", "more less", "hot cold", "hot iced",
    "up down", "on off", "enabled disabled", "allowed forbidden", "started stopped", "north south",
    "east west", "big small", "older younger", "short long", "formal informal", "dark light",
    "window aisle", "sweet salty", "cheap expensive", "quiet loud", "remote in_person",
    "email phone_call", "text_message phone_call", "text_message voice_message",
    "izquierda derecha", "abierto cerrado", "abierta cerrada", "antes despues", "compro vendio",
    "gano perdio", "primero ultimo", "primera ultima", "mas menos", "arriba abajo",
    "activado desactivado", "empezo dejo", "norte sur", "este oeste", "mayor menor",
)  # fmt: skip
_OPPOSITES = {frozenset(word.replace("_", " ") for word in pair.split()) for pair in _PAIRED}
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
    """The class of each entry, and its words; all mean the first."""
    text = re.sub(r"^#.*$", "", FILE.read_text("utf-8"), flags=re.MULTILINE)
    return [
        (name, [word for part in re.split("[=,]", entry) if (word := part.strip())])
        for name, block in re.findall(r"\[([^\]]+)\]([^\[]*)", text)
        for entry in " ".join(block.split()).split(";")
    ]


@cache
def _vocabulary() -> tuple[dict[str, str], dict[str, set[str]], re.Pattern]:
    """Canonical words by word or phrase, classes by canonical word, and a pattern of phrases."""
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
    """The words of the text that mean something, the same for "blue" and "azul"."""
    found = tokens(text)
    kept = [meaning for word in found if (meaning := canonical(word))]
    return frozenset(kept or [word for word in found if word])


def tokens(text: str) -> list[str]:
    """The words in order, without accents and possessives; a known phrase is one word."""
    return [_bare(word) for word in _WORD.findall(_join_phrases(text))]


def in_order(text: str) -> list[str]:
    """The terms in the order of the text."""
    return [meaning for word in tokens(text) if (meaning := canonical(word))]


@lru_cache(maxsize=16384)
def canonical(word: str) -> str:
    """One word for all that mean the same; empty for a word that only holds others together."""
    known, _classes, _phrases = _vocabulary()
    for form in _singulars(word):
        if form in known:
            return known[form]
    if "_" in word:
        return word.replace("_", " ")
    if ordinal := _ORDINAL.fullmatch(word):
        return ordinal[1]
    if word in _STOPS:
        return ""
    # Names keep their ends: a stem would make one person of María and Mario.
    return stem(word, "en") if word.endswith(_INFLECTED) else word


def classes(term: str) -> set[str]:
    """What kind of thing a canonical word names: colour, city, pet, editor …"""
    return _vocabulary()[1].get(term, set())


def are_all(words: Set[str], *names: str) -> bool:
    """Whether every term belongs to one of the classes."""
    return bool(words) and all(classes(term) & set(names) for term in words)


def are_opposite(word: str, other: str) -> bool:
    """Whether two canonical words exclude each other: short and long, Monday and Friday."""
    if frozenset((word, other)) in _OPPOSITES:
        return True
    return word != other and any(
        name in classes(word) and name in classes(other) for name in _ONE_OF
    )


def tool_class(words: frozenset[str]) -> str:
    """What a known tool is used as ("editor"), when the words name one and little else."""
    named = [kind for term in sorted(words) for kind in classes(term) & TOOLS]
    rest = [term for term in words if not classes(term) & TOOLS and not term[0].isdigit()]
    return named[0] if named and len(rest) <= 1 else ""


def slot(text: str) -> str:
    """The name of an attribute in one language: "gestor de paquetes" is "package manager"."""
    return " ".join(sorted(terms(text)))


def _join_phrases(text: str) -> str:
    known, _classes, phrases = _vocabulary()
    flat = fold(text).replace("’", "'")
    return phrases.sub(lambda m: _joined(known, m.group()), flat)


def _joined(canonical: dict[str, str], phrase: str) -> str:
    return canonical.get(phrase, canonical.get(phrase.removesuffix("s"), phrase)).replace(" ", "_")


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word).strip(".,:/-")


def _singulars(word: str) -> tuple[str, ...]:
    forms = [word.replace("_", " ")]
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("s"):
        forms.append(word[:-1])
    return tuple(forms)


PHRASES = Path(__file__).with_name("phrases.txt")


@cache
def _patterns() -> dict[str, re.Pattern]:
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in rulebook.read(PHRASES)}


def phrase(name: str) -> re.Pattern:
    """Return the pattern of that name."""
    return _patterns()[name]


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
        told = Slot(
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
        return replace(told, **more) if more else told


def trim(value: str) -> str:
    """Cut off what only says since when, why or with whom."""
    return phrase("tail").sub("", f" {value.strip()}").strip(" .!…:'\"-")
