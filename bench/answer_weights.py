"""Learn what makes a sentence the answer, for the built-in provider.

    python -m bench.answer_weights collect ROWS.json --talks FILE... [--locomo FILE]
    python -m bench.answer_weights fit ROWS.json...

Collecting asks every question of the talks (the form of `bench.stranger`), and with `--locomo` the
first half of `bench.answers`, and keeps what the answerer saw of each sentence. Fitting prints the
weights for `offline_answers.WEIGHTS`, and how they do on talks that were left out in turn.
"""

import argparse
import json
import os
import re
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import django
import numpy as np

from bench import answers, stranger
from bench.fitting import logistic
from bench.fresh_database import fresh_database

FOLDS = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["collect", "fit"])
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--talks", type=Path, nargs="*", default=[])
    parser.add_argument("--locomo", type=Path)
    given = parser.parse_args()
    if given.what == "fit":
        show([row for file in given.rows for row in json.loads(file.read_text())])
        return
    with fresh_database("keno_answer_weights"):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        asked = [one for file in given.talks for one in _talk(file)]
        asked += _answers(given.locomo) if given.locomo else []
    given.rows[0].write_text(json.dumps(asked))


def _talk(file: Path) -> list[dict]:
    chat, now, asked = stranger.chat_of(file), stranger.start(), []
    for kind, text, expected in stranger.lines(file):
        now += timedelta(hours=3)
        with _watched() as seen:
            stranger.say(chat, text, now=now)
        if kind != "say" and seen:
            right = "|".join(re.escape(one.strip()) for one in expected.split("|") if one.strip())
            asked.append(_labelled(seen[0], right, of=file.stem))
    return asked


def _answers(locomo: Path) -> list[dict]:
    where, asked = answers.places(locomo), []
    for one in answers.read():
        if one.half == "tuned":
            with _watched() as seen:
                answers.answer(one, *where[one.place])
            if seen:
                asked.append(_labelled(seen[0], one.right, of=f"answers-{one.place}"))
    return asked


@contextmanager
def _watched():
    """Collects what the answerer sees of each question: its sentences with their features."""
    from memory.llm.providers import offline_answers

    seen, features = [], offline_answers.features

    def watch(asked, spoken):
        rows = features(asked, spoken)
        seen.append(list(zip(spoken, rows, strict=True)))
        return rows

    offline_answers.features = watch
    try:
        yield seen
    finally:
        offline_answers.features = features


def _labelled(seen: list, right: str, *, of: str) -> dict:
    def holds(one) -> bool:
        return bool(right) and bool(re.search(right, f"{one.text} {one.quote}", re.I))

    return {"of": of, "known": bool(right), "rows": [[row, holds(one)] for one, row in seen]}


def show(asked: list[dict]) -> None:
    asked = [one for one in asked if one["rows"]]
    names = sorted(asked[0]["rows"][0][0])
    talks = sorted({one["of"] for one in asked})
    told = []
    for fold in range(FOLDS):
        left_out = set(talks[fold::FOLDS])
        weights = fit([one for one in asked if one["of"] not in left_out], names)
        told += [_best(one, weights, names) for one in asked if one["of"] in left_out]
    right = np.array([sure for sure, holds, _known in told if holds])
    wrong = np.array([sure for sure, holds, _known in told if not holds])
    unknown = np.array([sure for sure, _holds, known in told if not known])
    ahead = np.mean([(one > wrong).mean() for one in right])
    known = len(told) - len(unknown)
    print(f"{len(told)} questions, {known} with an answer; the surest holds it for {len(right)};")
    print(f"right ahead of wrong {ahead:.3f}")
    for least in (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8):
        print(
            f"from {least:.2f}: right {(right >= least).sum() / known:.3f} of the answerable, "
            f"wrong {(wrong >= least).sum() / len(told):.3f} of all, "
            f"said to the unanswerable {(unknown >= least).mean():.3f}"
        )
    print({name: round(float(one), 2) for name, one in fit(asked, names).items()})


def _best(one: dict, weights: dict[str, float], names: list[str]) -> tuple[float, bool, bool]:
    sums = [sum(weights[name] * row[name] for name in names) for row, _holds in one["rows"]]
    place = int(np.argmax(sums))
    return 1 / (1 + np.exp(-sums[place])), one["rows"][place][1], one["known"]


def fit(asked: list[dict], names: list[str]) -> dict[str, float]:
    return logistic([pair for one in asked for pair in one["rows"]], names)


if __name__ == "__main__":
    main()
