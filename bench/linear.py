"""Learning a linear model over hashed features."""

from collections.abc import Sequence

import numpy as np

from memory.text.linear import BITS, LinearModel

BATCH = 64


def fit(
    lit: Sequence[np.ndarray],
    right: np.ndarray,
    worth: np.ndarray,
    *,
    seed: int,
    epochs: int,
    rate: float,
    decay: float,
) -> LinearModel:
    """Logistic regression by AdaGrad, BATCH rows at a time; `worth` is what each row counts.

    `lit` are the buckets that a row lights, and a long row counts no more than a short one.
    """
    norms = np.array([max(len(buckets), 1) ** 0.5 for buckets in lit])
    size = 1 << BITS
    weights, bias, steps = np.zeros(size), 0.0, np.full(size, 1e-6)
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(len(lit)), -(-len(lit) // BATCH)):
            buckets = np.concatenate([lit[i] for i in batch])
            of_row = np.repeat(np.arange(len(batch)), [len(lit[i]) for i in batch])
            sums = np.bincount(of_row, weights[buckets], len(batch))
            guess = 1 / (1 + np.exp(-(bias + sums / norms[batch])))
            pull = (guess - right[batch]) * worth[batch]
            slope = np.bincount(buckets, (pull / norms[batch])[of_row], size)
            here = np.unique(buckets)
            slope = slope[here] + decay * weights[here]
            steps[here] += slope * slope
            weights[here] -= rate * slope / np.sqrt(steps[here])
            bias -= 0.1 * pull.mean()
    return LinearModel(weights, bias)


def mean(models: Sequence[LinearModel]) -> LinearModel:
    weights = np.mean([one.weights for one in models], axis=0)
    return LinearModel(weights, float(np.mean([one.bias for one in models])))
