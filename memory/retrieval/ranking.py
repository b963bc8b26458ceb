"""Scores that add up: each feature times its weight, and nothing else."""

from collections.abc import Mapping
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
    features: Mapping[str, float]
    weights: Mapping[str, float]
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
        made = []
        for name, weight in self.weights.items():
            value = round(self.features.get(name, 0.0), DIGITS)
            if points := round(value * weight, DIGITS):
                made.append(Part(name, value, weight, points))
        return sorted(made, key=lambda part: -abs(part.points))

    @cached_property
    def score(self) -> float:
        return round(sum(part.points for part in self.parts), DIGITS)


def rank(
    units: list[Candidate],
    features: Mapping[int, Mapping[str, float]],
    weights: Mapping[str, float],
) -> list[Scored]:
    """Best first; of two alike the newer."""
    weights = {name: weight for name, weight in weights.items() if weight}
    if not units:
        return []
    names = list(weights)
    table = np.array([[features[unit.id].get(name, 0.0) for name in names] for unit in units])
    # All at once to sort by, rounded as the parts are; parts are made for the few that are shown.
    points = np.round(np.round(table, DIGITS) * np.array(list(weights.values())), DIGITS)
    scores = np.round(points.sum(axis=1), DIGITS)
    order = sorted(range(len(units)), key=lambda n: (-scores[n], -units[n].created_at.timestamp()))
    return [Scored(units[n], features[units[n].id], weights) for n in order]
