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
MAX_WORDS = 12
# Of a longer sentence, in characters, only the beginning is read.
MAX_LENGTH = 600


def probability(text: str) -> float:
    """Return how likely these words ask; without marks, and with shorthand written out."""
    return _model().probability(features(text[:MAX_LENGTH]))


@cache
def _model() -> LinearModel:
    return LinearModel.read(WEIGHTS)


def features(text: str) -> np.ndarray:
    """Return the buckets that the words light, each once."""
    hashes = (zlib.crc32(name.encode()) & ((1 << BITS) - 1) for name in _names(text))
    return np.unique(np.fromiter(hashes, np.int64))


def _names(text: str) -> Iterator[str]:
    """Yield the names of the features: words, where they stand, and which stand side by side."""
    written = words.words(text.lower())
    folded = [words.fold(word) for word in written]
    yield f"length {min(len(folded), MAX_WORDS)}"
    yield f"last {folded[-1:]}"
    yield f"last two {folded[-2:]}"
    yield f"first three {folded[:FIRST]}"
    # "Qué" asks where "que" may not.
    yield f"as written {written[:1]}"
    for place, word in enumerate(folded):
        yield word
        yield f"{min(place, FIRST)} {word}"
        if place:
            pair = f"{folded[place - 1]} {word}"
            yield pair
            if place < FIRST:
                yield f"{place} {pair}"
    for word in folded[:FIRST]:
        framed = f"<{word}>"
        yield from (f"of {framed[n : n + 3]}" for n in range(len(framed) - 2))
