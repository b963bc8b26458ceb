"""Whether words ask or tell where no mark says so: "hw much do i pay", "talla de mi hijo".

A small linear model over the words and where they stand, learned from lines of our own by
`python -m bench.asks --fit`.
"""

import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from memory.text import normalise as words
from memory.text.linear import BITS, LinearModel

WEIGHTS = Path(__file__).with_name("asking.npz")
# Where a word stands says as much as the word; behind the first three it is only there.
FIRST = 3
MOST_WORDS = 12
# Of a longer sentence, in characters, only the beginning is read.
MOST_READ = 600


def probability(said: str) -> float:
    """How likely it is that these words, shorthand written out and marks left out, ask."""
    return _model().probability(features(said[:MOST_READ]))


@cache
def _model() -> LinearModel:
    return LinearModel.read(WEIGHTS)


def features(said: str) -> np.ndarray:
    """The buckets that the words light, each once."""
    hashes = (zlib.crc32(one.encode()) & ((1 << BITS) - 1) for one in _features(said))
    return np.unique(np.fromiter(hashes, np.int64))


def _features(said: str) -> Iterator[str]:
    written = words.words(said.lower())
    heard = [words.fold(word) for word in written]
    yield f"length {min(len(heard), MOST_WORDS)}"
    yield f"last {heard[-1:]}"
    yield f"last two {heard[-2:]}"
    yield f"first three {heard[:FIRST]}"
    # "Qué" asks where "que" may not.
    yield f"as written {written[:1]}"
    for place, word in enumerate(heard):
        yield word
        yield f"{min(place, FIRST)} {word}"
        if place:
            pair = f"{heard[place - 1]} {word}"
            yield pair
            if place < FIRST:
                yield f"{place} {pair}"
    for word in heard[:FIRST]:
        framed = f"<{word}>"
        yield from (f"of {framed[n : n + 3]}" for n in range(len(framed) - 2))
