"""Learn the guard's linear model: python -m bench.train_guard --corpora DIR --chat DIR.

Trains on our own lines (guard_lines/), on every sentence Keno can say, on one half of the corpora
whose licence allows it and on two thirds of the chat lines; the rest is what bench.guards reports
as unseen.
"""

import argparse
import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import django
import numpy as np

from bench import chat_lines, corpora, linear, own_phrases, spun_lines
from memory.guards import inspect as guard_model
from memory.guards.disguise import plain
from memory.text.linear import BITS, LinearModel

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


def training_rows(folder: Path | None, *, seed: int, benign: Sequence[Line] = ()) -> list[Line]:
    """Single lines, and lines joined as people and attackers join them."""
    own = spun_lines.lines(per_template=24, seed=seed)
    rows = [Line(row["text"], row["attack"], row["lang"], row["template"]) for row in own]
    if folder:
        rows += [Line(r.text, r.attack, r.lang, r.text) for r in corpora.trainable(folder)] * 3
    rows += benign
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


def benign_rows(chat: Path | None) -> list[Line]:
    """What Keno says, three times; the chat that is not kept for measuring, twice."""
    heard = [line for line in chat_lines.read(chat) if not line.unseen] if chat else []
    return [
        *(Line(text, False, lang, text) for text, lang in own_phrases.phrases() * 3),
        *(Line(line.text, False, line.lang, line.text) for line in heard * 2),
    ]


def _talk(rng: random.Random, some: list[Line]) -> Line:
    """The lines as an episode keeps them: a title, then who said what."""
    first = some[0]
    rng.shuffle(some)
    said = "\n".join(f"- {rng.choice(SPEAKERS)}: {row.text}" for row in some)
    return Line(f"{some[0].text}\n{said}", first.attack, first.lang, first.origin)


def fit(rows: list[Line], *, seed: int) -> LinearModel:
    """Both sides of every language weigh the same, or the language itself would become a sign."""
    lit = [guard_model.features(plain(row.text)) for row in rows]
    known, sides = _supported(rows, lit), Counter((row.lang, row.attack) for row in rows)
    attack = np.array([row.attack for row in rows], dtype=float)
    worth = np.array([_weight(row, sides) for row in rows])
    lit = [buckets[known[buckets]] for buckets in lit]
    return linear.fit(lit, attack, worth, seed=seed, epochs=EPOCHS, rate=RATE, decay=DECAY)


def _weight(row: Line, sides: Counter) -> float:
    both = sides[row.lang, True] + sides[row.lang, False]
    return min(3.0, 0.5 * both / sides[row.lang, row.attack])


def _supported(rows: list[Line], lit: list[np.ndarray]) -> np.ndarray:
    """Features of several templates; one template's words would only be learned by heart."""
    seen, counts = set(), np.zeros(1 << BITS, dtype=int)
    for row, buckets in zip(rows, lit, strict=True):
        fresh = [b for b in buckets.tolist() if (row.origin, b) not in seen]
        seen.update((row.origin, b) for b in fresh)
        counts[fresh] += 1
    return counts >= SUPPORT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, help="folder with injection_attacks.jsonl, …")
    parser.add_argument("--out", type=Path, default=guard_model.WEIGHTS)
    parser.add_argument("--chat", type=Path, help="folder with .tsv files of ordinary chat")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    django.setup()
    benign = benign_rows(options.chat)
    runs = [
        fit(training_rows(options.corpora, seed=seed, benign=benign), seed=seed)
        for seed in range(RUNS)
    ]
    linear.mean(runs).write(options.out)
    print(f"{options.out}: {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
