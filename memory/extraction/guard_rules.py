"""The rules of the guard, read from guard_rules.txt."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import re2

FILE = Path(__file__).with_name("guard_rules.txt")
_PIECE = re.compile(r"\{([A-Z]+)\}")
_ENTRY = re.compile(r"([A-Z]+|[a-z]+)(?: =|:) (.*)", re.DOTALL)


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
    pieces, made = {}, []
    for entry in entries(FILE.read_text("utf-8")):
        name, pattern = _ENTRY.fullmatch(entry).groups()
        pattern = _PIECE.sub(lambda m: pieces[m.group(1)], pattern)
        if name.isupper():
            pieces[name] = pattern
        else:
            made.append(Rule(name, compiled(pattern)))
    return tuple(made)


def entries(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return "\n".join(lines).replace("\n    ", "").splitlines()


def compiled(pattern: str) -> object:
    options = re2.Options()
    # Bytes make smaller automata than signs, and plain text is nearly all ASCII.
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 32 << 20  # the alternations are long; below this a slower engine takes over
    options.log_errors = False
    return re2.compile(f"(?m){pattern}".encode(), options)
