"""Which words name the same thing in English and Spanish, and which exclude each other."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("concepts.txt")
STRICT = ("name", "kin", "one")
LONGEST = 4  # words of a phrase


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
    made = Concepts()
    for number, line in enumerate(_lines()):
        kind, _colon, rest = line.partition(": ")
        for side, part in enumerate(rest.split(" | ")):
            label = f"{kind}:{number}" + (f":{side}" if kind == "against" else "")
            for word in part.split(", ") if kind == "against" else [part]:
                made.add(word.strip(), label)
    return made


def labels(words: list[str]) -> Iterator[tuple[int, int, set[str]]]:
    """(first word, number of words, labels) of every word and phrase that stands for something."""
    known = concepts()
    for start in range(len(words)):
        for size in range(min(LONGEST, len(words) - start), 0, -1):
            if found := known.of(" ".join(words[start : start + size])):
                yield start, size, found
                break  # a mother in law is not a mother


@cache
def of_night() -> set[str]:
    """What a time such as 3am stands for."""
    return {label for label in concepts().of("night") if not label.startswith("against")}


def kind(label: str) -> str:
    return label.partition(":")[0]


def opposite(label: str) -> str:
    """The other side of an "against" line."""
    line, _colon, side = label.rpartition(":")
    return f"{line}:{1 - int(side)}"


def _lines() -> list[str]:
    written = FILE.read_text("utf-8").splitlines()
    return [line for line in written if re.match(r"[a-z]+: ", line)]
