"""A question as the built-in provider reads it: whom it is about, and what about."""

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memory.calendar.words import ANY_MONTH, MONTH
from memory.extraction import statements
from memory.extraction.grammar import spanish_verbs
from memory.extraction.rescheduling import DAY
from memory.guards import rulebook
from memory.text import kinship
from memory.text import normalise as words

_DATES = {"<DAY>": DAY, "<MONTH>": MONTH, "<ANY_MONTH>": ANY_MONTH}
_RULES = dict(rulebook.read(Path(__file__).with_name("offline_patterns.txt")))


def _compiled(rule: str) -> re.Pattern:
    for mark, pattern in _DATES.items():
        rule = rule.replace(mark, pattern)
    return re.compile(rule)


def _listed(name: str) -> frozenset[str]:
    return frozenset(_RULES.pop(name).split("|"))


FRAME_WORDS = _listed("frame_words")
_NOT_FOCUS_WORDS = FRAME_WORDS | _listed("not_focus_words")
_HOME_AND_WORK_WORDS = _listed("home_and_work_words")
_PUT_WORDS = _listed("put_words")
PATTERNS = {name: _compiled(rule) for name, rule in _RULES.items()}
# Forms of the first person that are mostly other words.
_NOT_VERB_WORDS = frozenset("como sobre bajo caso uso rio gusto creo entre cuando".split())
_BEFORE_NOUN_WORDS = frozenset("el un mi tu su del al de este ese otro cada".split())
_NOUN_AND_VERB_WORDS = frozenset("marca toma pesca compra visita cuenta cocina musica".split())
_QUESTION_WORDS = "what whats where when which who how donde cuando quien cual".split()
# What a question asks for -> the frames of a fact that tells it.
_FRAMES = {"home": {"home"}, "work": {"employer", "job"}, "address": {"home"}}
# What a number stands for without saying so: "Tom's phone is 600 123 456".
_NUMBERS = frozenset("number numero".split())
_PHONES = frozenset("phone mobile cell telefono movil celular".split())
# Who is meant by a word for several.
_SEVERAL = {
    "mother father": "parents padres", "brother sister": "siblings hermanos",
    "son daughter": "children kids hijos", "dog cat": "pets mascotas",
}  # fmt: skip


def search(name: str, text: str) -> re.Match | None:
    """Find the pattern of this name in the text."""
    return PATTERNS[name].search(text)


@dataclass(frozen=True)
class ParsedQuestion:
    """A question: whom it is about, what about, and what kind of answer it asks for."""

    text: str
    person: str = ""
    # First names, folded, of those who speak or are spoken of in what was recalled.
    known: frozenset[str] = frozenset()
    # First names, folded, that stand inside of its sentences: "two kids, Leo and Anya".
    named: frozenset[str] = frozenset()

    @cached_property
    def folded(self) -> str:
        return words.fold(self.text)

    def asks(self, kind: str) -> re.Match | None:
        """Match the pattern "asks_<kind>": whether it asks for a job, an age, a place."""
        return search(f"asks_{kind}", self.folded)

    @cached_property
    def names(self) -> set[str]:
        """Return what is written as a name, or known as one, or stands where a name does."""
        stands = {match["name"] for match in PATTERNS["asked_of"].finditer(self.folded)}
        known = self.known | self.named
        return (names_inside(self.text) | (bare_names(self.folded) | stands) & known) - FRAME_WORDS

    @cached_property
    def is_mine(self) -> bool:
        is_of_me = bool(search("says_mine", self.text)) or self._has_first_verb
        return is_of_me and not self.asks("how_to")

    @property
    def is_about_us(self) -> bool:
        return bool(search("says_we", self.folded))

    @cached_property
    def is_of_me_alone(self) -> bool:
        """Tell whether it is about the asker, and not about somebody or something of theirs."""
        says_me = bool(search("i_or_me", self.text)) or self._has_first_verb
        return self.is_mine and says_me and not search("says_my_or_our", self.text) and not self.kin

    @cached_property
    def _has_first_verb(self) -> bool:
        """ "¿Dónde trabajo?" says "I" by the verb alone."""
        if words.detect_language(self.text) != "es":
            return False
        written = words.words(self.text.lower())
        return any(
            bool(spanish_verbs.first_person(word)) and words.fold(word) not in _NOT_VERB_WORDS
            for before, word in zip(["", *written], written, strict=False)
            if before not in _BEFORE_NOUN_WORDS
        )

    @cached_property
    def statement(self) -> statements.Statement:
        return statements.Statement.of(self.text)

    @cached_property
    def kin(self) -> set[str]:
        """Return the people and animals that it asks about: nobody else can stand for them."""
        return kin_among(self.statement.concepts) | _members(self.statement.words)

    @cached_property
    def topics(self) -> list[tuple[set[str], set[str]]]:
        """Return what it is about: each word as its stems and the concepts it stands for."""
        concepts = {place: several for place, _size, several in self.statement.labels}
        # A person's name is compared elsewhere; a place or a thing is what it is about.
        ignored = self.names & self.known
        # Where the frame is known, it says what is asked for.
        if self.frames:
            bare = {form for name in self.names for form in (name, f"{name}'s", f"{name}s")}
            ignored |= _HOME_AND_WORK_WORDS | bare
        if self.asks("where"):
            ignored |= _PUT_WORDS
        return [
            (statements.stems(word), concepts.get(place, set()) | _members([word]))
            for place, word in enumerate(self.statement.words)
            if len(word) > 2 and word not in ignored and not self._is_frame(place, word)
        ]

    @staticmethod
    def _is_frame(place: int, word: str) -> bool:
        """Count a first word with swapped letters as a question word: "waht is my job?"."""
        is_typo = place == 0 and any(sorted(word) == sorted(known) for known in _QUESTION_WORDS)
        return word in FRAME_WORDS or is_typo

    def covers(self, statement: statements.Statement, *, also: Set[str] = frozenset()) -> float:
        """Return the share of its topics in the statement, which also stands for `also`."""
        has_phone = bool(search("phone_number", statement.text))
        covered = [
            bool(roots & statement.forms or labels & (statement.concepts | also))
            or bool(roots & _NUMBERS and statement.quantities.numbers)
            or bool(has_phone and roots & _PHONES)
            for roots, labels in self.topics
        ]
        return sum(covered) / len(covered) if covered else 0.5

    def covers_all(self, text: str) -> bool:
        return not self.topics or self.covers(statements.Statement.of(text)) == 1

    @cached_property
    def focus(self) -> str:
        """Return the noun an answer has or is: "position" of "what position does she play?"."""
        nouns = (match["noun"] for match in PATTERNS["focus"].finditer(self.folded))
        return next((noun for noun in nouns if noun not in _NOT_FOCUS_WORDS), "")

    @cached_property
    def has_noun(self) -> bool:
        """Tell whether an answer needs a noun of that kind: "¿en qué anda?" asks for none."""
        if not self.focus or self.focus in FRAME_WORDS | {"ano"}:
            return False
        if self.frames and self.focus in _HOME_AND_WORK_WORDS:
            return False
        is_verb = spanish_verbs.is_third(self.focus) and words.detect_language(self.text) == "es"
        return not is_verb or self.focus in _NOUN_AND_VERB_WORDS

    @cached_property
    def frames(self) -> set[str]:
        """Return the frames of an answer about where somebody lives or works; else none."""
        return next((keys for name, keys in _FRAMES.items() if self.asks(name)), set())


def replace_name_by_kin(question: str, memories: str) -> str:
    """Ask for "my son" in the place of Antek, where the asker said "our son, Antek"; else ""."""
    relatives = [
        match for match in PATTERNS["has_kin"].finditer(memories) if kinship.kin(match["kin"])
    ]
    for relative in relatives:
        same = {other["name"] for other in relatives if other["kin"] == relative["kin"]}
        name = rf"\b{re.escape(relative['name'])}\b(?P<of>['’]?s\b)?"
        # Of two sisters "my sister" is neither.
        if len(same) == 1 and re.search(name, question):
            my = "mi" if words.detect_language(relative[0]) == "es" else "my"
            return re.sub(name, rf"{my} {relative['kin']}\g<of>", question)
    return ""


def kin_among(concepts: Iterable[str]) -> set[str]:
    return {label for label in concepts if statements.kind(label) == "kin"}


def names_inside(text: str) -> set[str]:
    """Return the words with a capital, folded, but for the first word of the text."""
    first = PATTERNS["sentence_start"].match(text)
    start = first.end() if first else 0
    return {
        words.fold(match[0].removesuffix("'s"))
        for match in PATTERNS["name"].finditer(text)
        if match.start() >= start
    }


def bare_names(folded: str) -> set[str]:
    """Return the words, also without the ending of an owner: "niko's", "nikos"."""
    written = set(words.words(folded))
    return {word.removesuffix("'s") for word in written} | {
        word[:-1] for word in written if word.endswith("s") and len(word) > 3
    }


def _members(written: Iterable[str]) -> set[str]:
    """Return the concepts that a word for several means: mother and father for "parents"."""
    members = [pair for pair, several in _SEVERAL.items() if set(several.split()) & set(written)]
    concepts = statements.concepts()
    return {label for pair in members for word in pair.split() for label in concepts.of(word)}
