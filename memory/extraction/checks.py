"""Find out why words that sound like a fact state none: asked, wished, guessed, quoted…"""

import re
from functools import cache
from pathlib import Path

from memory.extraction import clauses, intents
from memory.guards import rulebook

FILE = Path(__file__).with_name("checks.txt")
POINTING, POINTING_ALONE = "pointing", "pointing_alone"
# Characters before a span that may say that it is asked, wished, guessed or quoted.
LOOK_BACK = 300
# So few words answer a question and say nothing without it.
MAX_ANSWER_WORDS = 3
# A reason that counts for some kinds only. Who reports what others think of their people reports a
# fact ("the vet says Pumpkin is ill"), and an event may be of today.
KINDS = {
    "reported": ("profile", "preference"),
    "cheer": ("lore",),
    "addressee": ("profile", "preference", "event"),
    POINTING: ("preference",),
}


def problem(message: str, start: int, end: int, *, kind: str, previous: str = "") -> str:
    """Return why these characters of the message are not a fact of this kind; empty if they are.

    Words that point ("I love them") may be one after the question that names what they point at.
    """
    if clauses.is_joke(message):
        return "joke"
    starts = (sentence.start for sentence in clauses.sentences(message))
    sentence = max((place for place in starts if place <= start), default=0)
    if intents.asks_plainly(message[sentence:end]):
        return "question"
    parts = {
        "before": message[max(start - LOOK_BACK, sentence) : start],
        "inside": message[start:end],
        "after": message[end:],
        "from": message[start:],
    }
    for reason, where, pattern in _rules():
        if reason == "answer":
            continue
        if reason in (POINTING, POINTING_ALONE) and "?" in previous:
            continue
        if kind in KINDS.get(reason, (kind,)) and pattern.search(parts[where]):
            return reason
    return ""


def needs_previous(quote: str, previous: str) -> bool:
    """Return whether the words are an answer that states nothing without its question."""
    if "?" not in previous:
        return False
    points = (p for reason, _, p in _rules() if reason in (POINTING, POINTING_ALONE, "answer"))
    return len(quote.split()) <= MAX_ANSWER_WORDS or any(p.search(quote) for p in points)


@cache
def _rules() -> list[tuple[str, str, re.Pattern]]:
    rules = []
    for name, pattern in rulebook.read(FILE):
        reason, where = name.split("/")
        pattern = {"before": rf"(?:{pattern})$", "after": rf"^(?:{pattern})"}.get(where, pattern)
        rules.append((reason, where, re.compile(pattern, re.IGNORECASE)))
    return rules
