"""A sentence as its words, the lists of words in the files beside it, and the names of kin."""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from memory.text.normalise import fold


def read_lists(file: Path) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    name = ""
    for line in file.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, _, line = line.partition(":")
            lists[name] = []
        lists[name] += line.split()
    return lists


# Said without "my", as if they were names: "mum runs a salon".
USED_AS_NAMES = frozenset(
    "mum mom mam mummy mommy dad daddy grandma grandpa granny gran nan nana nanna grandad granddad"
    " mamá mami papá papi amá apá".split()
)


@dataclass(frozen=True)
class Kin:
    relation: str  # "sister", in English whatever the language of the word
    gender: str  # "f", "m", or "" when the word does not say
    is_plural: bool = False


def kin(word: str) -> Kin | None:
    """What a word says about somebody's place in the speaker's life."""
    low = word.lower()
    return _table().get(low) or _table().get(fold(low))


@cache
def _table() -> dict[str, Kin]:
    listed: dict[str, Kin] = {}
    for line in Path(__file__).with_name("kinship.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            listed = _words(line) | listed
    plurals = {_plural(word): replace(one, is_plural=True) for word, one in listed.items()}
    return plurals | listed


def _words(line: str) -> dict[str, Kin]:
    """relation, gender, English words / Spanish words; a word may have a gender of its own."""
    relation, gender, *listed = line.split()
    found: dict[str, Kin] = {}
    for entry in listed:
        word, _, own = entry.partition(":")
        one = Kin(relation, (own or gender).replace("-", ""), is_plural=word in _PLURALS)
        found |= {word: one, fold(word): one}
    return {word: one for word, one in found.items() if word != "/"}


_PLURALS = frozenset(
    """
    parents folks padres papás viejos siblings hermanos twins mellizos gemelos children kids nietos
    grandparents abuelos grandchildren grandkids in-laws suegros
    """.split()
)


def _plural(word: str) -> str:
    if word.endswith(("ss", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "es" if word.endswith(("or", "ez")) else word + "s"


_TOKEN = re.compile(r"[^\W_]+(?:['’`-][^\W_]+)*|\s+|.", re.DOTALL)


class Sentence:
    """The words of a clause, lower-case for reading; `text` is the clause with the changes."""

    def __init__(self, clause: str) -> None:
        self._tokens = _TOKEN.findall(clause)
        self._places = [n for n, token in enumerate(self._tokens) if token[0].isalnum()]
        self.words = [self._plain(self._tokens[n]) for n in self._places]
        self._capitals = [self._tokens[n][0].isupper() for n in self._places]

    @staticmethod
    def _plain(token: str) -> str:
        return token.replace("’", "'").replace("`", "'").lower()

    def written(self, number: int) -> str:
        """The word as it stands, with its capitals."""
        return self._tokens[self._places[number]]

    def is_capitalised(self, number: int) -> bool:
        return self._capitals[number]

    def gap(self, number: int) -> str:
        """What stands before this word: spaces and marks."""
        start = self._places[number - 1] + 1 if number else 0
        return "".join(self._tokens[start : self._places[number]])

    def put(self, number: int, text: str) -> None:
        self._tokens[self._places[number]] = text

    def drop(self, number: int) -> None:
        """Take the word out with the space behind it."""
        place = self._places[number]
        self._tokens[place] = ""
        if place + 1 < len(self._tokens) and self._tokens[place + 1].isspace():
            self._tokens[place + 1] = ""

    @property
    def text(self) -> str:
        return "".join(self._tokens)


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
