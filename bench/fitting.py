"""Learning weights: of a ranking that puts the evidence first, and of a probability."""

import numpy as np

# How strongly weights are held near zero, on features of unit spread.
HOLD = 3e-3


def fit(rows: list[np.ndarray], right: list[np.ndarray], *, hold: float = HOLD) -> np.ndarray:
    """Weights of a listwise softmax over each question's candidates, by L-BFGS."""
    stacked = np.concatenate(rows)
    mean, spread = stacked.mean(axis=0), stacked.std(axis=0)
    spread[spread < 1e-9] = np.inf  # a feature that never varies gets no weight
    longest, width = max(map(len, rows)), stacked.shape[1]
    x = np.zeros((len(rows), longest, width))
    y = np.zeros((len(rows), longest))
    absent = np.ones((len(rows), longest), dtype=bool)
    for place, (row, hit) in enumerate(zip(rows, right, strict=True)):
        x[place, : len(row)] = (row - mean) / spread
        y[place, : len(row)] = hit / hit.sum()
        absent[place, : len(row)] = False

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        score = x @ weights
        score[absent] = -1e9
        score -= score.max(axis=1, keepdims=True)
        likely = np.exp(score)
        total = likely.sum(axis=1, keepdims=True)
        off = likely / total - y
        cost = -(y * (score - np.log(total)))[~absent].sum() / len(rows)
        slope = np.einsum("qcf,qc->f", x, off) / len(rows)
        return cost + hold * weights @ weights, slope + 2 * hold * weights

    return _descend(loss, np.zeros(width)) / spread


def _descend(loss, weights: np.ndarray, *, steps: int = 80, memory: int = 8) -> np.ndarray:
    cost, slope = loss(weights)
    moves: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(steps):
        towards = _direction(slope, moves)
        if towards @ slope > 0:
            towards = -slope
        size = 1.0
        while size > 1e-8:
            new_cost, new_slope = loss(weights + size * towards)
            if new_cost <= cost + 1e-4 * size * (towards @ slope):
                break
            size /= 2
        step, turn = size * towards, new_slope - slope
        if step @ turn > 1e-12:
            moves = [*moves, (step, turn)][-memory:]
        done = abs(cost - new_cost) < 1e-9
        weights, cost, slope = weights + step, new_cost, new_slope
        if done:
            break
    return weights


def _direction(slope: np.ndarray, moves: list) -> np.ndarray:
    towards, shares = slope.copy(), []
    for step, turn in reversed(moves):
        share = step @ towards / (turn @ step)
        shares.append(share)
        towards -= share * turn
    if moves:
        step, turn = moves[-1]
        towards *= (step @ turn) / (turn @ turn)
    for (step, turn), share in zip(moves, reversed(shares), strict=True):
        towards += step * (share - (turn @ towards) / (turn @ step))
    return -towards


def logistic(
    pairs: list[tuple[dict[str, float], bool]], names: list[str], *, hold: float = 3.0
) -> dict[str, float]:
    """Weights of a logistic curve over (features, whether it is so), by Newton's steps.

    "bias" is a feature that is always 1 and is not held near zero as the others are.
    """
    x = np.array([[row[name] for name in names] for row, _holds in pairs])
    y = np.array([holds for _row, holds in pairs], dtype=float)
    free = np.array([name == "bias" for name in names])
    mean = np.where(free, 0.0, x.mean(axis=0))
    spread = np.where(free, 1.0, np.maximum(x.std(axis=0), 1e-6))
    x = (x - mean) / spread
    held, weights = np.where(free, 0.0, hold), np.zeros(len(names))
    for _ in range(30):
        likely = 1 / (1 + np.exp(-(x @ weights)))
        slope = x.T @ (likely - y) + held * weights
        curve = (x * (likely * (1 - likely))[:, None]).T @ x + np.diag(held)
        weights = weights - np.linalg.solve(curve, slope)
    weights = weights / spread
    weights[free] -= (weights * mean)[~free].sum()
    return dict(zip(names, weights.tolist(), strict=True))
