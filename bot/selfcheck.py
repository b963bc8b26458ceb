"""A look back at one's own answer. It only observes: nothing is blocked or changed by it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory.text import normalise as words

SHORT = 10
LONG_QUESTION = 100
HEDGES = re.compile(
    r"\b(?:i think|maybe|not sure|i(?:'| a)m not (?:certain|confident)|probably|possibly|perhaps"
    r"|no (?:tengo|estoy) segur[oa]|creo que|tal vez|quizás?|a lo mejor|probablemente)\b"
)
PENALTIES = {
    "response_too_short": 0.6,
    "response_shorter_than_expected": 0.2,
    "excessive_hedging": 0.3,
    "mild_hedging": 0.1,
    "high_repetition": 0.2,
    "no_memory_context": 0.15,
    "forbidden_phrase": 0.3,
}


@dataclass(frozen=True)
class Check:
    """How good an answer looks, and by which signs."""

    score: float
    quality: str
    signals: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)


def check(answer: str, *, question: str, had_memory: bool, forbidden: Sequence[str] = ()) -> Check:
    """`forbidden` are the phrases of the rules that the answer was found to contain."""
    signals = [
        *_length(answer, question),
        *_hedging(answer),
        *(["high_repetition"] if repetition(answer, question) > 0.6 else []),
        *([] if had_memory else ["no_memory_context"]),
        *(["forbidden_phrase"] if forbidden else []),
    ]
    score = round(max(0.0, 1 - sum(PENALTIES[signal] for signal in signals)), 2)
    quality = "poor" if score < 0.5 else "uncertain" if score < 0.7 else "good"
    return Check(score, quality, signals, list(forbidden))


def repetition(answer: str, question: str) -> float:
    """Which part of the answer's longer words the question had already, 0..1."""
    mine = [word for word in words.words(answer) if len(word) > 3]
    theirs = {word for word in words.words(question) if len(word) > 3}
    return sum(word in theirs for word in mine) / len(mine) if mine else 0.0


def _length(answer: str, question: str) -> list[str]:
    length = len(answer.strip())
    found = ["response_too_short"] if length < SHORT else []
    if len(question) > LONG_QUESTION and length < 0.3 * len(question):
        found.append("response_shorter_than_expected")
    return found


def _hedging(answer: str) -> list[str]:
    count = len(HEDGES.findall(answer.lower().replace("’", "'")))
    return ["excessive_hedging"] if count > 1 else ["mild_hedging"] if count else []
