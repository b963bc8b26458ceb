"""What a person forbids the assistant to do without asking: "never spend money without approval".

A limit is an order to the assistant, as in an attack. But it forbids acts in the world, never
honesty, questions or obedience.
"""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from memory.guards import disguise, rulebook

FILE = Path(__file__).with_name("limits.txt")
MAX_CLAUSE = 240
MAX_CLAUSES = 200  # later ones are judged like any text
_MARKS = " .;!,\n)\"'"
_CALLS = frozenset({"keno", "ok", "okay", "please", "por favor", "oye", "hey", "yes", "si", "no"})
_CLAUSES = rulebook.patterns(rulebook.CLAUSES)


def is_limit(text: str) -> bool:
    """Tell whether the whole text is one limit or several."""
    clauses = [clause for clause, _start in _clauses(disguise.plain(text))]
    clauses = [clause for clause in clauses if clause.strip(_MARKS) not in _CALLS]
    return bool(clauses) and all(map(_matches, clauses))


def without_limits(seen: str) -> str:
    """Blank out the limits of a plain text; every other character keeps its place."""
    for clause, start in list(_clauses(seen)):
        if _matches(clause):
            seen = seen[:start] + " " * len(clause) + seen[start + len(clause) :]
    return seen


def _clauses(seen: str) -> Iterator[tuple[str, int]]:
    """Return the clauses of a plain text that say something, each with its place."""
    ends, nexts = _CLAUSES["end"].finditer(seen), _CLAUSES["next"].finditer(seen)
    cuts = sorted({0, len(seen), *(m.end() for m in ends), *(m.start() for m in nexts)})
    for start, end in pairwise(cuts[:MAX_CLAUSES]):
        if seen[start:end].strip(_MARKS):
            yield seen[start:end], start


def _matches(clause: str) -> bool:
    bare = _CLAUSES["about"].sub("", clause.strip(_MARKS))
    if not bare or len(bare) > MAX_CLAUSE:
        return False
    # An act that needs approval says whose; a forbidden one names nobody.
    kind = "asking" if _CLAUSES["condition"].search(bare) else "never"
    raw = bare.encode("utf-8", "replace")
    return bool(_rules()[kind].fullmatch(raw)) and not _CLAUSES["smuggled"].search(bare)


@cache
def _rules() -> dict[str, Any]:
    patterns: dict[str, list[str]] = {}
    for name, pattern in rulebook.read(FILE):
        patterns.setdefault(name.split("/")[0], []).append(f"(?:{pattern})")
    return {kind: rulebook.linear("|".join(several)) for kind, several in patterns.items()}
