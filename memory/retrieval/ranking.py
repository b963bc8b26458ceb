"""Scores that add up: each feature times its weight, and nothing else."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from memory.retrieval.keywords import content_words
from memory.retrieval.lanes import Candidate

# Parts are rounded before they are added, so that the receipt adds up to the last digit.
DIGITS = 6


class Part(NamedTuple):
    name: str
    value: float
    weight: float
    points: float


@dataclass
class Scored:
    """A candidate with its reasons."""

    unit: Candidate
    # What was added up: names, values, weights, points.
    columns: tuple[Sequence, Sequence, Sequence, Sequence]
    # How likely it is to the point, 0..1: what the gate looks at.
    confidence: float = 0.0
    cut: str = ""
    tokens: int = 0
    # The messages before and after it, for a reader: (author, text).
    around: list[tuple[str, str] | None] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, int]:
        return self.unit.kind, self.unit.owner_id

    @cached_property
    def parts(self) -> list[Part]:
        """The parts of the score, the heaviest first."""
        rows = [Part._make(part) for part in zip(*self.columns, strict=True) if part[3]]
        return sorted(rows, key=lambda part: -abs(part.points))

    @cached_property
    def score(self) -> float:
        return round(sum(self.columns[3]), DIGITS)


def rank(
    units: list[Candidate],
    features: Mapping[int, Mapping[str, float]],
    weights: Mapping[str, float],
) -> list[Scored]:
    """Rank the candidates, best first; of two with the same score the newer."""
    weights = {name: weight for name, weight in weights.items() if weight}
    if not units:
        return []
    names, heavy = list(weights), list(weights.values())
    table = [[features[unit.id].get(name, 0.0) for name in names] for unit in units]
    values = np.round(np.array(table), DIGITS)
    points = np.round(values * np.array(heavy), DIGITS)
    scores = np.round(points.sum(axis=1), DIGITS).tolist()
    values, points = values.tolist(), points.tolist()
    order = sorted(range(len(units)), key=lambda n: (-scores[n], -units[n].created_at.timestamp()))
    return [Scored(units[n], (names, values[n], heavy, points[n])) for n in order]


# From here on two memories say the same and the lower one is cut.
SAME_FROM = 0.9


def topic_words(value: str) -> frozenset[str]:
    """Return the words by which two memories are compared."""
    return frozenset(content_words(value))


def overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the shared words over the words of the shorter one."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def mmr(
    items: Sequence,
    *,
    score: Callable[[Any], float],
    words: Callable[[Any], frozenset[str]],
    balance: float = 0.7,
) -> list:
    """Reordered: each next one is good (balance) and unlike those before it (the rest).

    Scores are compared as they are: give 0..1.
    """
    rest, chosen = list(items), []
    worst = [0.0] * len(rest)
    word_sets = [words(item) for item in rest]
    while rest:
        best = max(
            range(len(rest)), key=lambda i: balance * score(rest[i]) - (1 - balance) * worst[i]
        )
        picked, picked_words = rest.pop(best), word_sets.pop(best)
        worst.pop(best)
        chosen.append(picked)
        worst = [
            max(w, overlap(picked_words, other)) for w, other in zip(worst, word_sets, strict=True)
        ]
    return chosen


class Repetition:
    """Texts that were chosen; tells whether another only repeats one of them."""

    def __init__(self, texts: Sequence[str] = ()):
        self.word_sets = [topic_words(value) for value in texts]

    def repeats(self, value: str) -> bool:
        words = topic_words(value)
        return any(_same(words, other) for other in self.word_sets)

    def add(self, value: str) -> None:
        self.word_sets.append(topic_words(value))


def _same(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a | b) and len(a & b) / len(a | b) >= SAME_FROM
