"""Learn the weights of the profile `keno` from conversations and write them as data.

    python -m bench.learn_weights --locomo FILE [--write]

Only features that a conversation can teach are learned; confidence, trust and the like never vary
in one, so their weights are set by hand, small enough to decide only between equals.
"""

import argparse
import json
import os
from pathlib import Path

import django

from bench.fresh_database import fresh_database
from bench.questions import ANSWERABLE, locomo

LEARNED = "semantic words alike nearby episode around topic speaker date question when".split()
BY_HAND = {
    # The judge reads only the best of what the others rank.
    "answers": 3.0,
    # Looked at by the gate only.
    "rare": 0.0,
    # One talk must not fill the list.
    "crowd": -0.2,
    "confidence": 0.5,
    "trust": 0.5,
    "recency": 0.1,
    "channel": 0.1,
    "usage": 0.2,
    "pin": 1.0,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="replace the shipped weights")
    given = parser.parse_args()
    with fresh_database("keno_learn"):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
        django.setup()
        from django.core.management import call_command

        from bench.held import hold
        from memory.retrieval import profiles

        call_command("migrate", verbosity=0)
        held = [hold(one, slug=f"learn-{n}") for n, one in enumerate(locomo(given.locomo))]
        weights = learn([examples(one) for one in held])
        print(json.dumps(weights, indent=1))
        if given.write:
            write(profiles.FOLDER / "keno.json", weights)


def examples(held) -> list[tuple]:
    """(features, which are evidence) of every question whose evidence is among the candidates."""
    import numpy as np

    found = []
    for question in held.conversation.questions:
        if question.category in ANSWERABLE:
            rows, ids = held.weigh(question)
            right = np.array([float(one in question.evidence) for one in ids])
            if right.any():
                found.append((rows, right))
    return found


def learn(conversations: list[list[tuple]]) -> dict[str, float]:
    """The weights that these conversations teach, with those set by hand."""
    from bench.fitting import fit
    from memory.retrieval.features import NAMES

    columns = [NAMES.index(name) for name in LEARNED]
    rows = [row[:, columns] for one in conversations for row, _ in one]
    right = [hit for one in conversations for _, hit in one]
    learned = dict(zip(LEARNED, fit(rows, right), strict=True))
    return {name: round(float(weight), 3) for name, weight in learned.items()} | BY_HAND


def write(path: Path, weights: dict[str, float]) -> None:
    profile = json.loads(path.read_text())
    profile["weights"] = weights
    path.write_text(json.dumps(profile, indent=2) + "\n")
    print(f"Written to {path}.")


if __name__ == "__main__":
    main()
