"""Learn the weights of the guard's linear model: python -m bench.train_guard --corpora DIR.

Trains on our own lines (guard_lines/) and on one half of the corpora whose licence allows it; the
other half is what bench.guards reports as unseen.
"""

import argparse
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import corpora, spun_lines
from memory.extraction import guard_model
from memory.extraction.disguise import plain

EPOCHS, RATE, DECAY = 14, 0.1, 2e-4
SUPPORT = 3  # a feature counts when this many different templates or lines show it
SPEAKERS = ["Ana", "Adrian", "Lucía", "Marta", "Iván", "Keno", "Bo", "Stranger", "User"]
RUNS = 4  # differently spun lines each; their weights are averaged


@dataclass(frozen=True)
class Line:
    text: str
    attack: bool
    lang: str
    origin: str


def training_rows(folder: Path | None, *, seed: int) -> list[Line]:
    """Single lines, and lines joined as people and attackers join them."""
    own = spun_lines.lines(per_template=24, seed=seed)
    rows = [Line(row["text"], row["attack"], row["lang"], row["template"]) for row in own]
    if folder:
        rows += [Line(r.text, r.attack, r.lang, r.text) for r in corpora.trainable(folder)] * 3
    rng = random.Random(seed)
    good = [row for row in rows if not row.attack]
    bad = [row for row in rows if row.attack]
    for _ in range(2500):
        some = rng.sample(good, rng.choice([2, 2, 3, 4]))
        text = " ".join(row.text for row in some)
        rows.append(Line(text, False, some[0].lang, some[0].origin))
    for _ in range(1200):
        before, after = rng.choice(good), rng.choice(bad)
        rows.append(Line(f"{before.text} {after.text}", True, after.lang, after.origin))
    for _ in range(1500):
        rows.append(_talk(rng, rng.sample(good, rng.choice([1, 2, 2, 3]))))
        rows.append(_talk(rng, [rng.choice(bad), *rng.sample(good, rng.choice([0, 1, 1]))]))
    rng.shuffle(rows)
    return rows


def _talk(rng: random.Random, some: list[Line]) -> Line:
    """The lines as an episode keeps them: a title, then who said what."""
    first = some[0]
    rng.shuffle(some)
    said = "\n".join(f"- {rng.choice(SPEAKERS)}: {row.text}" for row in some)
    return Line(f"{some[0].text}\n{said}", first.attack, first.lang, first.origin)


def fit(rows: list[Line], *, seed: int) -> tuple[np.ndarray, float]:
    """Logistic regression by AdaGrad over the hashed features.

    Both sides of every language weigh the same, or the language itself would become a sign.
    """
    lit = [guard_model.features(plain(row.text)) for row in rows]
    known = _supported(rows, lit)
    sides = Counter((row.lang, row.attack) for row in rows)
    data = [
        (f[known[f]], max(len(f), 1) ** 0.5, row.attack, _weight(row, sides))
        for f, row in zip(lit, rows, strict=True)
    ]
    weights, bias = np.zeros(1 << guard_model.BITS), 0.0
    steps = np.full(1 << guard_model.BITS, 1e-6)
    rng = random.Random(seed)
    for _ in range(EPOCHS):
        rng.shuffle(data)
        for lit_here, norm, attack, weight in data:
            guess = 1 / (1 + np.exp(-(bias + weights[lit_here].sum() / norm)))
            pull = (guess - attack) * weight
            slope = pull / norm + DECAY * weights[lit_here]
            steps[lit_here] += slope * slope
            weights[lit_here] -= RATE * slope / np.sqrt(steps[lit_here])
            bias -= 0.01 * pull
    return weights, bias


def _weight(row: Line, sides: Counter) -> float:
    both = sides[row.lang, True] + sides[row.lang, False]
    return min(3.0, 0.5 * both / sides[row.lang, row.attack])


def _supported(rows: list[Line], lit: list[np.ndarray]) -> np.ndarray:
    """Features of several templates; one template's words would only be learned by heart."""
    seen, counts = set(), np.zeros(1 << guard_model.BITS, dtype=int)
    for row, buckets in zip(rows, lit, strict=True):
        fresh = [b for b in buckets.tolist() if (row.origin, b) not in seen]
        seen.update((row.origin, b) for b in fresh)
        counts[fresh] += 1
    return counts >= SUPPORT


def save(weights: np.ndarray, bias: float, path: Path) -> None:
    scale = np.abs(weights).max() / 127
    small = np.round(weights / scale).astype(np.int8)
    np.savez_compressed(path, weights=small, scale=np.float32(scale), bias=np.float32(bias))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, help="folder with injection_attacks.jsonl, …")
    parser.add_argument("--out", type=Path, default=guard_model.WEIGHTS)
    options = parser.parse_args()
    runs = [fit(training_rows(options.corpora, seed=s), seed=s) for s in range(RUNS)]
    save(np.mean([w for w, _ in runs], axis=0), float(np.mean([b for _, b in runs])), options.out)
    print(f"{options.out}: {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
