"""Patterns kept as data: files of named pieces and rules, and the guard's own rules (rules.txt)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import re2

_ENTRY = re.compile(r"([A-Z_]+|[a-z_]+(?:/[a-z0-9.]+)*)(?: =|:) (.*)", re.DOTALL)
_PIECE = re.compile(r"\{([A-Z_]+)\}")
# A larger set is a larger automaton, which is slow on the first texts.
SET_SIZE = 20
FILE = Path(__file__).with_name("rules.txt")
CLAUSES = Path(__file__).with_name("clauses.txt")


def read(file: Path, *, pieces: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Return the rules of the file, (name, pattern), with {PIECE} put in.

    An indented line continues the one before; `pieces` are further ones.
    """
    lines = [n for n in file.read_text("utf-8").splitlines() if n and not n.startswith("#")]
    pieces, rules = dict(pieces or {}), []
    for entry in "\n".join(lines).replace("\n    ", "").splitlines():
        name, pattern = _ENTRY.fullmatch(entry).groups()
        pattern = _PIECE.sub(lambda m: pieces[m.group(1)], pattern)
        if name.isupper():
            pieces[name] = pattern
        else:
            rules.append((name, pattern))
    return rules


def patterns(file: Path, **pieces: str) -> dict[str, re.Pattern]:
    """Return the rules of a file by their names, compiled for short or trusted text."""
    return {name: re.compile(pattern) for name, pattern in read(file, pieces=pieces)}


def linear(pattern: str) -> object:
    """Compile for hostile text: it matches UTF-8 bytes in time linear to their number."""
    return re2.compile(_multiline(pattern), _options())


def sieve(patterns: Sequence[str]) -> Callable[[bytes], list[int]]:
    """Return what tells by number which patterns match; many at once cost little more than one."""
    starts = range(0, len(patterns), SET_SIZE)
    sets = [(start, _pattern_set(patterns[start : start + SET_SIZE])) for start in starts]

    def matching(raw: bytes) -> list[int]:
        numbers: list[int] = []
        for start, (pattern_set, size) in sets:
            hits = pattern_set.Match(raw) or ()
            # The last pattern matches everything: without it, the set gave up.
            hits = sorted(hits)[:-1] if size in hits else range(size)
            numbers += [start + hit for hit in hits]
        return numbers

    return matching


def _pattern_set(patterns: Sequence[str]) -> tuple[re2.Set, int]:
    pattern_set = re2.Set.SearchSet(_options())
    for pattern in (*map(_multiline, patterns), b""):
        pattern_set.Add(pattern)
    pattern_set.Compile()
    return pattern_set, len(patterns)


def _multiline(pattern: str) -> bytes:
    return f"(?m){pattern}".encode()


def _options() -> re2.Options:
    options = re2.Options()
    # Bytes make smaller automata than characters, and the texts are nearly all ASCII.
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 32 << 20  # the alternations are long; below this a slower engine takes over
    options.log_errors = False
    return options


@dataclass(frozen=True)
class Rule:
    kind: str
    pattern: object

    def find(self, seen: bytes) -> tuple[int, int] | None:
        """Return where the rule matches in the UTF-8 bytes of a plain text, in characters."""
        match = self.pattern.search(seen)
        return tuple(len(seen[:at].decode()) for at in match.span()) if match else None


def matching(seen: bytes) -> list[Rule]:
    """Return the rules that match somewhere, in their order."""
    return [rules()[number] for number in rule_sieve()(seen)]


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(Rule(kind, linear(pattern)) for kind, pattern in read(FILE))


@cache
def rule_sieve() -> Callable[[bytes], list[int]]:
    return sieve([pattern for _kind, pattern in read(FILE)])
