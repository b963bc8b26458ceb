"""A sentence as its words, and the files of words and patterns beside the modules."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from memory.guards import rulebook
from memory.text.kinship import NOBODY


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


def patterns_beside(module: str) -> SimpleNamespace:
    """Read the .txt file named like the module; upper and lower case are alike.

    A pattern `name` is an attribute; `name/en` and `name/es` are one, a dict by language.
    """
    patterns: dict[str, Any] = {}
    for name, pattern in rulebook.read(Path(module).with_suffix(".txt")):
        name, _, language = name.partition("/")
        compiled = re.compile(pattern, re.IGNORECASE)
        patterns[name] = patterns.get(name, {}) | {language: compiled} if language else compiled
    return SimpleNamespace(**patterns)


# Said without "my", as if they were names: "mum runs a salon".
USED_AS_NAMES = frozenset(
    "mum mom mam mummy mommy dad daddy grandma grandpa granny gran nan nana nanna grandad granddad"
    " mamá mami papá papi amá apá".split()
)
# Written with a capital at the beginning of a sentence, and no names.
NOT_NAMES = NOBODY | frozenset(
    """
    i monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december god ok okay yes no yeah the a he she it we you
    they he's she's it's they're do does did is are any tonight so and but well also even hi hey
    enero febrero lunes martes ya y yo él ella ellos el la los las un una uno mi tu su cada sí oye
    hola
    """.split()
)
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
