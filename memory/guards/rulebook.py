"""Patterns kept as data: files of named pieces and rules, and the guard's own rules (rules.txt)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import re2

_ENTRY = re.compile(r"([A-Z_]+|[a-z_]+(?:/[a-z0-9.]+)*)(?: =|:) (.*)", re.DOTALL)
_PIECE = re.compile(r"\{([A-Z_]+)\}")
# More in one set are a larger automaton, which takes more texts to get going.
AT_ONCE = 20
FILE = Path(__file__).with_name("rules.txt")


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


def patterns(file: Path) -> dict[str, re.Pattern]:
    """Return the rules of a file of our own, for ordinary text, by their names."""
    return {name: re.compile(pattern) for name, pattern in read(file)}


def linear(pattern: str) -> object:
    """Compiled for hostile text: matches UTF-8 bytes in time linear to their number."""
    return re2.compile(_marked(pattern), _options())


def sieve(patterns: Sequence[str]) -> Callable[[bytes], list[int]]:
    """Tells by number which of the patterns match: many asked at once cost little more than one."""
    starts = range(0, len(patterns), AT_ONCE)
    sets = [(start, _asked_at_once(patterns[start : start + AT_ONCE])) for start in starts]

    def matching(raw: bytes) -> list[int]:
        found: list[int] = []
        for start, (asked, size) in sets:
            hits = asked.Match(raw) or ()
            # The last matches everything: without it, the set gave up and says nothing.
            hits = sorted(hits)[:-1] if size in hits else range(size)
            found += [start + hit for hit in hits]
        return found

    return matching


def _asked_at_once(patterns: Sequence[str]) -> tuple[re2.Set, int]:
    asked = re2.Set.SearchSet(_options())
    for pattern in (*map(_marked, patterns), b""):
        asked.Add(pattern)
    asked.Compile()
    return asked, len(patterns)


def _marked(pattern: str) -> bytes:
    return f"(?m){pattern}".encode()


def _options() -> re2.Options:
    options = re2.Options()
    # Bytes make smaller automata than signs, and the texts are nearly all ASCII.
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 32 << 20  # the alternations are long; below this a slower engine takes over
    options.log_errors = False
    return options


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
    known, which = rules(), rule_sieve()
    return [known[n] for n in which(seen)]


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(Rule(kind, linear(pattern)) for kind, pattern in read(FILE))


@cache
def rule_sieve() -> Callable[[bytes], list[int]]:
    return sieve([pattern for _kind, pattern in read(FILE)])
