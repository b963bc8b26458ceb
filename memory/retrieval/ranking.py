"""Scores that add up: each feature times its weight, and nothing else."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from memory.retrieval.keywords import content_words
from memory.retrieval.lanes import Candidate
from memory.text.normalise import jaccard

# Parts are rounded before they are added, so that the receipt adds up to the last digit.
DIGITS = 6
MAX_CROWDED = 10
# Facts whose values are compared, and how many words two values may have.
MAX_COMPARED = 40
MAX_OTHER_WORDS = 3


class Part(NamedTuple):
    name: str
    value: float
    weight: float
    points: float


def parts(
    names: Sequence, values: Sequence, weights: Sequence, points: Sequence | None = None
) -> list[Part]:
    """Return the parts that count, the heaviest first; points are value times weight."""
    if points is None:
        points = np.round(np.array(values) * np.array(weights), DIGITS).tolist()
    rows = [Part._make(part) for part in zip(names, values, weights, points, strict=True)]
    return sorted((part for part in rows if part.points), key=lambda part: -abs(part.points))


@dataclass
class Scored:
    """A candidate with its reasons."""

    unit: Candidate
    # What was added up: names, values, weights, points.
    columns: tuple[Sequence, Sequence, Sequence, Sequence]
    # How likely it is to the point, 0..1, by all that is known of it: what the gate looks at.
    confidence: float = 0.0
    features: Mapping[str, float] = field(default_factory=dict)
    cut: str = ""
    tokens: int = 0
    # The messages before and after it, for a reader: (author, text).
    around: list[tuple[str, str] | None] = field(default_factory=list)
    # The memory that led to it, when it was found by asking once more.
    via: str = ""
    # What was asked to find it, where that was not the question itself.
    asked: str = ""

    @property
    def key(self) -> tuple[str, int]:
        return self.unit.kind, self.unit.owner_id

    @cached_property
    def parts(self) -> list[Part]:
        """The parts of the score, the heaviest first."""
        return parts(*self.columns)

    @cached_property
    def score(self) -> float:
        return round(sum(self.columns[3]), DIGITS)

    def fall_behind(self, other: "Scored") -> None:
        """Take off what puts it right behind the other; the receipt shows it as a part."""
        names, values, weights, points = self.columns
        off = round(other.score - self.score - 10**-DIGITS, DIGITS)
        self.columns = [*names, "older"], [*values, 1.0], [*weights, off], [*points, off]
        for cached in ("score", "parts"):
            self.__dict__.pop(cached, None)


class Table:
    """One row a candidate, one column a feature that has a weight; scores are sums of a row."""

    def __init__(
        self,
        units: list[Candidate],
        features: Mapping[int, Mapping[str, float]],
        weights: Mapping[str, float],
    ):
        weights = {name: weight for name, weight in weights.items() if weight}
        self.units, self.names, self.heavy = units, list(weights), list(weights.values())
        rows = [[features[unit.id].get(name, 0.0) for name in self.names] for unit in units]
        self.values = np.round(np.array(rows).reshape(len(units), len(self.names)), DIGITS)

    def fill(self, name: str, values: Mapping[int, float], *, into: dict) -> None:
        """Put values that are known only now into the column and into the features of the units.

        `values` are by the place of the row.
        """
        column = self.names.index(name)
        for place, value in values.items():
            self.values[place, column] = round(value, DIGITS)
            into[self.units[place].id][name] = value

    def order(self) -> list[int]:
        """Return the places of the rows, best first; of two with the same score the newer."""
        scores = np.round(self._points().sum(axis=1), DIGITS).tolist()
        times = [unit.said_at.timestamp() for unit in self.units]
        return sorted(range(len(self.units)), key=lambda n: (-scores[n], -times[n]))

    def ranked(self) -> list[Scored]:
        values, points = self.values.tolist(), self._points().tolist()
        names, heavy = self.names, self.heavy
        return [Scored(self.units[n], (names, values[n], heavy, points[n])) for n in self.order()]

    def _points(self) -> np.ndarray:
        return np.round(self.values * np.array(self.heavy), DIGITS)


def rank(
    units: list[Candidate],
    features: Mapping[int, Mapping[str, float]],
    weights: Mapping[str, float],
) -> list[Scored]:
    """Rank the candidates, best first."""
    return Table(units, features, weights).ranked()


def crowding(units: Sequence[Candidate], order: Sequence[int]) -> dict[int, float]:
    """Return how many better messages of the same episode stand before each: place -> number.

    What is asked about is often spread over many days, and one talk must not fill the list. Within
    an episode the order stays, so taking this off is the same as choosing one after the other.
    """
    seen: Counter[int] = Counter()
    crowd = {}
    for place in order:
        if episode := units[place].kind == "message" and units[place].episode_id:
            crowd[place] = float(min(seen[episode], MAX_CROWDED))
            seen[episode] += 1
    return crowd


def newer_first(ranked: list[Scored]) -> list[Scored]:
    """Put an older value of the same thing right behind the newer one, which came after it."""
    facts = [item for item in ranked[:MAX_COMPARED] if item.unit.kind == "fact"]
    fallen = False
    for place, newer in enumerate(facts):
        for older in facts[:place]:
            if older.score > newer.score and _is_older_value(older.unit, newer.unit):
                older.fall_behind(newer)
                fallen = True
    return sorted(ranked, key=lambda item: -item.score) if fallen else ranked


def _is_older_value(old: Candidate, new: Candidate) -> bool:
    """Tell whether two facts differ in a few words only, and the old one was said first.

    Where one has a word of the question that the other lacks, the question chose between them.
    """
    if old.said_at >= new.said_at or old.subject != new.subject or old.terms != new.terms:
        return False
    a, b = topic_words(old.text), topic_words(new.text)
    return (
        len(a - b) <= MAX_OTHER_WORDS
        and len(b - a) <= MAX_OTHER_WORDS
        and 2 * len(a & b) >= len(a | b)
    )


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
    """Reorder: each next one is good (balance) and unlike those before it (the rest).

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
    """The texts chosen so far; tells whether another only repeats one of them."""

    def __init__(self, texts: Sequence[str] = ()):
        self.word_sets = [topic_words(value) for value in texts]

    def repeats(self, value: str) -> bool:
        words = topic_words(value)
        return any(jaccard(words, other) >= SAME_FROM for other in self.word_sets)

    def add(self, value: str) -> None:
        self.word_sets.append(topic_words(value))
