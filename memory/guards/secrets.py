"""Secrets in a text: passwords, tokens, keys, cards, PINs; in code and in prose, en and es."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memory.guards import rulebook
from memory.guards.secret_checks import CHECKS

FILE = Path(__file__).with_name("secrets.txt")
_MARKER = re.compile(rb"\[redacted:[a-z_]+\]")
_AFTER = ".!?)]}:”’»"


@dataclass(frozen=True)
class Secret:
    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class SecretRule:
    kind: str
    check: Callable[[str, str], bool]
    pattern: object
    # The group that holds the secret itself: asking the pattern each time is slow.
    group: int


def find_secrets(text: str) -> list[Secret]:
    """Every secret, in order, never overlapping; the first rule that claims a place wins it."""
    raw = text.encode("utf-8", "surrogatepass")
    left, found = _MARKER.sub(lambda m: b"<" * len(m.group()), raw), []
    known, which = rules(), sieve()
    may = which(left)
    for number, rule in enumerate(known):
        spans = list(_spans(rule, left)) if number in may else []
        if spans:
            left = _without(left, spans)
            may = which(left)
        found += [(start, end, rule.kind) for start, end in spans]
    return list(_in_signs(raw, sorted(found)))


def _without(raw: bytes, spans: list[tuple[int, int]]) -> bytes:
    """No rule takes the sign that is left for a secret."""
    left = bytearray(raw)
    for start, end in spans:
        left[start:end] = b"<" * (end - start)
    return bytes(left)


def _spans(rule: SecretRule, raw: bytes) -> Iterator[tuple[int, int]]:
    for found in rule.pattern.finditer(raw):
        start, end = found.span(rule.group)
        value = raw[start:end].decode("utf-8", "surrogateescape").rstrip(_AFTER)
        if not value or "<" in value:
            continue
        before = raw[max(0, start - 80) : start].decode("utf-8", "ignore")
        if rule.check(value, before):
            yield start, start + len(value.encode("utf-8", "surrogateescape"))


def _in_signs(raw: bytes, spans: list[tuple[int, int, str]]) -> Iterator[Secret]:
    """Byte positions as positions in the text, counted once from left to right."""
    at = signs = 0
    for start, end, kind in spans:
        signs += len(raw[at:start].decode("utf-8", "surrogatepass"))
        first, at = signs, end
        signs += len(raw[start:end].decode("utf-8", "surrogatepass"))
        yield Secret(kind, first, signs)


@cache
def sieve() -> Callable[[bytes], list[int]]:
    return rulebook.sieve([pattern for _name, pattern in rulebook.read(FILE)])


@cache
def rules() -> tuple[SecretRule, ...]:
    made = []
    for name, pattern in rulebook.read(FILE):
        kind, check = name.split("/")
        linear = rulebook.linear(pattern)
        group = linear.groupindex.get(b"s", 0)
        made.append(SecretRule(kind, CHECKS[check], linear, group))
    return tuple(made)
