"""English verbs: the forms of those that people tell about themselves with."""

import re
from functools import cache
from pathlib import Path

from memory.extraction.grammar import word_lists

LISTS = word_lists.read(Path(__file__).with_name("verbs_en.txt"))
IRREGULAR = {base: (past, done) for base, past, done in (e.split(">") for e in LISTS["irregular"])}
BASES = frozenset([*LISTS["regular"], *LISTS["doubled"], *LISTS["same"], *IRREGULAR]) - {"be"}
# Spelt alike in the present and in the past.
SAME = frozenset(LISTS["same"])
ONLY_VERBS = frozenset(LISTS["only_verbs"])
MODALS = frozenset("can could will would must should may might".split())
_THIRD = {"be": "is", "have": "has", "do": "does", "go": "goes"}


def third(base: str) -> str:
    """prefer -> prefers, watch -> watches, study -> studies."""
    if base in _THIRD:
        return _THIRD[base]
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    return base[:-1] + "ies" if re.search(r"[^aeiou]y$", base) else base + "s"


def past(base: str) -> str:
    if base in IRREGULAR:
        return IRREGULAR[base][0]
    if base in SAME:
        return base
    return _regular_past(base)


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    return (base + base[-1] if base in LISTS["doubled"] else base) + "ed"


@cache
def pasts() -> frozenset[str]:
    """Past forms that are not spelt like the base."""
    return frozenset(map(past, BASES)) - SAME | {"was"} | frozenset(map(_regular_past, BASES))


@cache
def participles() -> frozenset[str]:
    return pasts() | {done for _, done in IRREGULAR.values()} | SAME | {"been"}


@cache
def thirds() -> dict[str, str]:
    """Third persons of the present with their bases."""
    return {third(base): base for base in BASES} | {"is": "be"}


def is_past(word: str) -> bool:
    """A past form: known, or an -ed that is no base itself ("need")."""
    return word in pasts() or (bool(re.fullmatch(r"[a-z]{3,}ed", word)) and word not in BASES)
