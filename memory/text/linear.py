"""Linear models over hashed features, as small as a picture: the guard's, and that of questions."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

BITS = 16


@dataclass(frozen=True)
class LinearModel:
    """One weight for each of the `1 << BITS` buckets that features are hashed into."""

    weights: np.ndarray
    bias: float

    @classmethod
    def read(cls, path: Path) -> "LinearModel":
        with np.load(path) as stored:
            weights = stored["weights"].astype(np.float32) * stored["scale"]
            return cls(weights, float(stored["bias"]))

    def write(self, path: Path) -> None:
        scale = np.abs(self.weights).max() / 127
        small = np.round(self.weights / scale).astype(np.int8)
        np.savez_compressed(
            path, weights=small, scale=np.float32(scale), bias=np.float32(self.bias)
        )

    def probability(self, lit: np.ndarray) -> float:
        """Return the probability of a text that lights these buckets, each named once."""
        total = self.bias + self.weights[lit].sum() / max(len(lit), 1) ** 0.5
        return float(1 / (1 + np.exp(-total)))
