"""Whether names typed in small letters are recognised, measured on talks that taught nothing.

python -m bench.capitals          the weights that ship: precision and recall by limit
python -m bench.capitals --show   also every word that is taken for the other
python -m bench.capitals --fit    learn the weights again, from all other lines and talks
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from bench import linear, marked_lines, questions, stranger
from bench.asks import KEPT_APART, LINES, TALKS
from memory.text import capitals
from memory.text.linear import LinearModel

LIMITS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
EPOCHS, RATE, DECAY, RUNS = 5, 0.2, 1e-6, 2
# Words that stand everywhere are thinned to this many; some are learned as if they were unknown.
MOST_OF_A_WORD, LEARNED_UNKNOWN = 200, 0.4
# At the beginning of a sentence the capital says nothing: what the word is elsewhere does.
OFTEN, MOSTLY = 2, 9
# Text with more capitals than this is shouted.
MOSTLY_SMALL = 0.4
_SPEAKER = re.compile(r"^(?:[^:\s][^:]{0,24}: )?")
# The words of a sentence, and of each whether it is a name (None where nobody can tell).
Row = tuple[list[str], list[bool | None]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    if options.fit:
        fit()
    measure(rows(_held_texts()), show=options.show)


def fit() -> None:
    random.seed(0)
    lit, right = [], []
    taught = rows(_taught_texts())
    often = Counter(word for words, _names in taught for word in words)
    for words, names in taught:
        for place, is_name in enumerate(names):
            kept = is_name or random.random() < MOST_OF_A_WORD / often[words[place]]
            if is_name is not None and kept:
                is_known = random.random() >= LEARNED_UNKNOWN
                lit.append(capitals.features(words, place, is_known=is_known))
                right.append(float(is_name))
    labels, worth = np.array(right), np.ones(len(right))
    models = [
        linear.fit(lit, labels, worth, seed=seed, epochs=EPOCHS, rate=RATE, decay=DECAY)
        for seed in range(RUNS)
    ]
    linear.mean(models).write(capitals.WEIGHTS)
    print(f"{len(lit)} words, {int(labels.sum())} of them names: {capitals.WEIGHTS.name}")


def measure(held: Sequence[Row], *, show: bool) -> None:
    model = LinearModel.read(capitals.WEIGHTS)
    judged = [
        (model.probability(capitals.features(words, place)), is_name, place, words)
        for words, names in held
        for place, is_name in enumerate(names)
        if is_name is not None
    ]
    names = sum(is_name for _p, is_name, _place, _words in judged)
    print(f"{len(judged)} words, {names} of them names")
    for limit in LIMITS:
        taken = [is_name for p, is_name, _place, _words in judged if p >= limit]
        precision, recall = sum(taken) / max(1, len(taken)), sum(taken) / max(1, names)
        print(f"from {limit}: precision {precision:.2f}, recall {recall:.2f}, {len(taken)} taken")
    for p, is_name, place, words in judged if show else []:
        if is_name != (p >= capitals.ALL_SMALL):
            print(f"  {p:.2f} {words[place]}: {' '.join(words)}")


def rows(texts: Iterator[str]) -> list[Row]:
    """Return the sentences that were typed with capitals, each once, and which words are names."""
    split = {
        tuple(word[0] for word in sentence)
        for text in texts
        if _has_capitals(text)
        for sentence in capitals.sentences(text, list(capitals.WORD.finditer(text)))
        if len(sentence) > 1
    }
    upper, lower = Counter[str](), Counter[str]()
    for words in split:
        for word in words[1:]:
            (upper if word[0].isupper() else lower)[capitals.bare(word)] += 1
    found = []
    for words in sorted(split):
        plain = [capitals.bare(word) for word in words]
        inside = [None if _is_unclear(word) else word[0].isupper() for word in words]
        high, low = upper[plain[0]], lower[plain[0]]
        is_name, is_other = high >= max(OFTEN, MOSTLY * low), low >= max(OFTEN, MOSTLY * high)
        first = is_name if is_name != is_other else None
        found.append((plain, [None if inside[0] is None else first, *inside[1:]]))
    return found


def _is_unclear(word: str) -> bool:
    return capitals.bare(word) in capitals.NOT_NAMES or (word.isupper() and len(word) > 1)


def _has_capitals(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    return (
        bool(letters)
        and letters[0].isupper()
        and sum(map(str.isupper, letters)) * 2.5 < len(letters)
    )


def _taught_texts() -> Iterator[str]:
    for pattern, read in (("judge_*.txt", questions.judged), ("talks_*.txt", questions.talks)):
        for file in sorted(LINES.glob(pattern)):
            for talk in read(file):
                yield from (question.text for question in talk.questions)
                yield from (_SPEAKER.sub("", memory.text) for memory in talk.memories)
    for file in sorted(LINES.glob("e[ns]_[1-6].tsv")):
        for line in marked_lines.read(file):
            yield from (line.previous, line.message)
    apart = set(_held_files())
    yield from _said(file for file in sorted(TALKS.rglob("*.tsv")) if file not in apart)


def _held_files() -> list[Path]:
    return [file for pattern in KEPT_APART for file in sorted(TALKS.glob(pattern))]


def _held_texts() -> Iterator[str]:
    return _said(_held_files())


def _said(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        yield from (text for _kind, text, _expected in stranger.lines(file))


if __name__ == "__main__":
    main()
