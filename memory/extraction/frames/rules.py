"""Which slots a clause fills, by the rules of rules.txt."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from memory.extraction.frames.readers import READERS, simple
from memory.extraction.frames.slots import Match, Slot
from memory.guards import rulebook

FILE = Path(__file__).with_name("rules.txt")
_AROUND = re.compile(r"\(\?(?:=|!|<=|<!)(?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")

Rule = tuple[str, frozenset[str], re.Pattern]


def slots(clause: str) -> list[Slot]:
    """Read a clause without its negation; mostly one slot, several for a list."""
    lower = clause == clause.lower()
    rules, may_match = _rules()
    for number in may_match(_ascii(clause.lower()).encode("ascii", "replace")):
        name, flags, pattern = rules[number]
        if fit := pattern.match(clause):
            match = Match(flags, fit.groupdict(), lower, start=fit.start("v"))
            if found := list(READERS.get(name, simple(name))(match)):
                return found
    return []


@cache
def _rules() -> tuple[list[Rule], Callable[[bytes], list[int]]]:
    """Return the rules in order, and a sieve that tells quickly which of them may match."""
    made, loose = [], []
    for name, pattern in rulebook.read(FILE):
        key, *flags = name.split("/")
        made.append((key, frozenset(flags), re.compile(pattern, re.IGNORECASE)))
        loose.append(_loosened(pattern))
    return made, rulebook.sieve(loose)


def _loosened(pattern: str) -> str:
    """Make a pattern for the sieve that matches at least as much and looks at nothing around."""
    bare = _AROUND.sub("", pattern).replace("(?-i:", "(?:")
    bare = re.sub(r"\{\d+,\d+\}\??", "*", bare)
    return "(?i)" + _ascii(re.sub(r"\(\?P<\w+>", "(?:", bare))


def _ascii(text: str) -> str:
    return text.replace("é", "e").replace("ó", "o").replace("í", "i")
