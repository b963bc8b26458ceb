"""Scores that add up: each feature times its weight, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

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
    score: float
    # How likely it is to the point, 0..1: what the gate looks at.
    confidence: float = 0.0
    cut: str = ""
    tokens: int = 0
    # What stands before and after it in its talk, for a reader: (who, what).
    around: list[tuple[str, str]] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, int]:
        return self.unit.kind, self.unit.owner_id

    @cached_property
    def parts(self) -> list[Part]:
        """What the score is made of, the heaviest first; made for the few that are shown."""
        made = [
            Part(name, round(self.features.get(name, 0.0), DIGITS), weight, points)
            for name, weight in self.weights.items()
            if (points := _points(self.features, name, weight))
        ]
        return sorted(made, key=lambda part: -abs(part.points))


def total(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    points = (_points(features, name, weight) for name, weight in weights.items())
    return round(sum(points), DIGITS)


def rank(
    units: list[Candidate],
    features: Mapping[int, Mapping[str, float]],
    weights: Mapping[str, float],
) -> list[Scored]:
    """Best first; of two alike the newer."""
    weights = {name: weight for name, weight in weights.items() if weight}
    scored = [
        Scored(unit, features[unit.id], weights, total(features[unit.id], weights))
        for unit in units
    ]
    return sorted(scored, key=lambda one: (-one.score, -one.unit.created_at.timestamp()))


def _points(features: Mapping[str, float], name: str, weight: float) -> float:
    value = features.get(name)
    return round(round(value, DIGITS) * weight, DIGITS) if value else 0.0
