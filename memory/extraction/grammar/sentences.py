"""Split a sentence into words, and read the files of words and patterns beside the modules."""

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


def data_beside(module: str | Path, **pieces: str) -> SimpleNamespace:
    """Read the .txt file named like the module: patterns, for which case does not matter.

    `pieces` are put in where the file names them. `name/en` and `name/es` are one attribute, a
    dict by language; `name/words` is a set of words.
    """
    data: dict[str, Any] = {}
    for name, pattern in rulebook.read(Path(module).with_suffix(".txt"), pieces=pieces):
        name, _, variant = name.partition("/")
        if variant == "words":
            data[name] = frozenset(pattern.split())
        else:
            compiled = re.compile(pattern, re.IGNORECASE)
            data[name] = data.get(name, {}) | {variant: compiled} if variant else compiled
    return SimpleNamespace(**data)


_DATA = data_beside(__file__)
USED_AS_NAMES, NOT_NAMES = _DATA.used_as_names, NOBODY | _DATA.not_names
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
        """Return the word as it stands, with its capitals."""
        return self._tokens[self._places[number]]

    def is_capitalised(self, number: int) -> bool:
        return self._capitals[number]

    def gap(self, number: int) -> str:
        """Return what stands before this word: spaces and marks."""
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
