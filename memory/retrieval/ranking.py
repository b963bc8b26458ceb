"""Scores that add up: each feature times its weight, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

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
    # What stands before and after it in its talk, for a reader: (who, what).
    around: list[tuple[str, str] | None] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, int]:
        return self.unit.kind, self.unit.owner_id

    @cached_property
    def parts(self) -> list[Part]:
        """What the score is made of, the heaviest first."""
        made = [Part._make(part) for part in zip(*self.columns, strict=True) if part[3]]
        return sorted(made, key=lambda part: -abs(part.points))

    @cached_property
    def score(self) -> float:
        return round(sum(self.columns[3]), DIGITS)


def rank(
    units: list[Candidate],
    features: Mapping[int, Mapping[str, float]],
    weights: Mapping[str, float],
) -> list[Scored]:
    """Best first; of two alike the newer."""
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
