"""Whether words ask or tell where no mark says so: learned, and measured on lines kept apart.

python -m bench.asks            what ships, over `untaught_asks.tsv` and talks kept apart
python -m bench.asks --show     also every line that is taken for the other
python -m bench.asks --fit      learn the weights again, from all other lines and talks
"""

import argparse
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import django
import numpy as np

from bench import linear, marked_lines, questions

LINES, TALKS = Path(__file__).with_name("lines"), Path(__file__).with_name("talks")
APART = "untaught_asks.tsv"
# Talks that taught nothing.
KEPT_APART = ("held/*.tsv", "plain/*_[tu]*.tsv")
# Kept for `bench.learn`.
UNTOUCHED = ("en_7.tsv", "es_7.tsv")
EPOCHS, RATE, DECAY, RUNS = 6, 0.2, 1e-5, 4
# How often a line counts that was written for this.
WRITTEN = 4.0
_WHO = re.compile(r"^[^\W\d][\w .]{0,20}: ")

Row = tuple[bool, str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    django.setup()
    if given.fit:
        fit()
    apart = [file for pattern in KEPT_APART for file in sorted(TALKS.glob(pattern))]
    for name, rows in ((APART, _written([LINES / APART])), ("talks kept apart", _said(apart))):
        measure(name, [*rows], show=given.show)


def fit() -> None:
    from memory.text import asking

    rows, written = [*dict.fromkeys(_taught())], [*_written(sorted(LINES.glob("asks_*.tsv")))]
    worth = np.array([1.0] * len(rows) + [WRITTEN] * len(written))
    rows += written
    lit = [asking.features(_bare(said)) for _asks, said, _language in rows]
    right = np.array([asks for asks, _said, _language in rows], dtype=float)
    models = [
        linear.fit(lit, right, worth, seed=seed, epochs=EPOCHS, rate=RATE, decay=DECAY)
        for seed in range(RUNS)
    ]
    linear.mean(models).write(asking.WEIGHTS)
    print(f"{len(rows)} lines, {int(right.sum())} of them ask: {asking.WEIGHTS.name}")


def measure(name: str, rows: list[Row], *, show: bool) -> None:
    """Print how many that ask are missed and how many that tell are taken for questions.

    Every mark is left out: with them nearly all would be plain.
    """
    from memory.extraction import intents

    for language in ("en", "es"):
        judged = [
            (asks, intents.is_question(_without_marks(said)), said)
            for asks, said, spoken in rows
            if spoken == language
        ]
        missed = [said for asks, taken, said in judged if asks and not taken]
        false = [said for asks, taken, said in judged if taken and not asks]
        asked = sum(asks for asks, _taken, _said in judged)
        print(
            f"{name}, {language}: {len(missed)} of {asked} questions missed, "
            f"{len(false)} of {len(judged) - asked} others taken for questions"
        )
        if show:
            print(*(f"  asks  {said}" for said in missed), sep="\n")
            print(*(f"  tells {said}" for said in false), sep="\n")


def _taught() -> Iterator[Row]:
    """What is asked and told in the talks and lines that teach the judge and the listener."""
    apart = {file for pattern in KEPT_APART for file in TALKS.glob(pattern)}
    yield from _said(file for file in sorted(TALKS.rglob("*.tsv")) if file not in apart)
    for file in sorted({*LINES.glob("e[ns]_*.tsv")} - {LINES / name for name in UNTOUCHED}):
        yield from _told((line.message, line.language) for line in marked_lines.read(file))
    for pattern, read in (("judge_*.txt", questions.judged), ("talks_*.txt", questions.talks)):
        for file in sorted(LINES.glob(pattern)):
            for one in read(file):
                yield from ((True, asked.text, one.language) for asked in one.questions)
                yield from _told((_WHO.sub("", said.text), one.language) for said in one.memories)


def _said(files: Iterable[Path]) -> Iterator[Row]:
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            kind, text = [*line.split("\t"), ""][:2]
            if kind in ("ask", "no"):
                yield True, text, file.stem[:2]
            elif kind == "say":
                yield from _told([(text, file.stem[:2])])


def _told(messages: Iterable[tuple[str, str]]) -> Iterator[Row]:
    """Sentence by sentence: one with a mark asks."""
    from memory.extraction import intents

    for text, language in messages:
        for said in intents.sentences(text):
            yield "?" in said or "¿" in said, said, language


def _written(files: Iterable[Path]) -> Iterator[Row]:
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            kind, language, text = line.split("\t")
            yield kind == "ask", text, language


def _bare(said: str) -> str:
    """As `is_question` reads it."""
    from memory.extraction import intents

    return intents.plain(_without_marks(said))


def _without_marks(said: str) -> str:
    return said.replace("?", "").replace("¿", "").strip()


if __name__ == "__main__":
    main()
