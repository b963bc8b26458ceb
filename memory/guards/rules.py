"""The rules of the guard, read from rules.txt."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memory.guards import rulebook

FILE = Path(__file__).with_name("rules.txt")


@dataclass(frozen=True)
class Rule:
    kind: str
    pattern: object

    def find(self, seen: bytes) -> tuple[int, int] | None:
        """Where in the UTF-8 bytes of a plain text, counted in signs, the rule matches."""
        found = self.pattern.search(seen)
        return tuple(len(seen[:at].decode()) for at in found.span()) if found else None


def matching(seen: bytes) -> list[Rule]:
    """The rules that match somewhere, in their order."""
    known, which = rules(), sieve()
    return [known[n] for n in which(seen)]


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(Rule(kind, rulebook.linear(pattern)) for kind, pattern in rulebook.read(FILE))


@cache
def sieve() -> Callable[[bytes], list[int]]:
    return rulebook.sieve([pattern for _kind, pattern in rulebook.read(FILE)])
