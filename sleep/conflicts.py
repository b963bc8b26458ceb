"""When two claims cannot both be true, or cannot stand for each other. Pure.

What a claim tells and what excludes it is known in one place, `memory.extraction.frames`; a night
only adds what keeps two like sentences from being merged.
"""

import re
from functools import lru_cache

from memory.extraction.frames.clauses import is_negative
from memory.extraction.frames.compare import compare
from memory.extraction.frames.reading import frames_of
from memory.extraction.frames.vocabulary import are_opposite, canonical, terms, tokens
from memory.text.normalise import fold

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d[\d.:,/-]*")


def contradict(a: str, b: str, *, subject: str = "") -> str:
    """Why both cannot be true ("value", "negation", "number" …); empty when they can.

    Which was said first does not matter here.
    """
    for old, new in ((a, b), (b, a)):
        verdict = compare(old, new, subject=subject)
        if verdict.changes:
            return verdict.reason
    return ""


def differ(a: str, b: str, *, subject: str = "") -> str:
    """Why two like sentences are not one ("number", "name", "opposite" …); empty when they are.

    Stricter than a contradiction: "flies on Monday" and "flies on Tuesday" may both be true, but
    one cannot stand for the other.
    """
    if why := contradict(a, b, subject=subject):
        return why
    if _negated(a) != _negated(b):
        return "negation"
    if _numbers(a) != _numbers(b):
        return "number"
    left, right = _names(a), _names(b)
    # "Ana Ruiz" and "Ana" are one person told twice.
    if not (left <= right or right <= left):
        return "name"
    return "opposite" if _opposite(_words(a), _words(b)) else ""


def buckets(text: str, subject: str = "") -> list[str]:
    """Claims that could contradict each other share one of these keys, or words."""
    found = frames_of(text, subject=subject)
    return [f"{' '.join(sorted(terms(subject) | one.holder))}|{one.key}" for one in found]


@lru_cache(maxsize=4096)
def _negated(text: str) -> bool:
    return is_negative(text)


def _names(text: str) -> set[str]:
    """Words that are written like names inside the sentence."""
    inside = [word for word in _WORD.findall(text)[1:] if word[0].isupper()]
    return {canonical(fold(word)) or fold(word) for word in inside}


def _words(text: str) -> set[str]:
    return {canonical(word) or word for word in tokens(text)}


def _opposite(one: set[str], other: set[str]) -> bool:
    return any(are_opposite(a, b) for a in one - other for b in other - one)


def _numbers(text: str) -> set[str]:
    return {number.strip(".,:/-") for number in _NUMBER.findall(text)}
