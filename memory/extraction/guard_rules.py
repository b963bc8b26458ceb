"""The rules of the guard, read from guard_rules.txt."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memory.extraction import rulebook

FILE = Path(__file__).with_name("guard_rules.txt")


@dataclass(frozen=True)
class Rule:
    kind: str
    pattern: object

    def find(self, seen: bytes) -> tuple[int, int] | None:
        """Where in the UTF-8 bytes of a plain text, counted in signs, the rule matches."""
        found = self.pattern.search(seen)
        return tuple(len(seen[:at].decode()) for at in found.span()) if found else None


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(Rule(kind, rulebook.linear(pattern)) for kind, pattern in rulebook.read(FILE))
