"""The meaning of single words, read straight out of the embedded model's own table.

"Kids" is near "children" and "niños" there, without running the model. The table is mapped, not
loaded: only the rows of words that occur are ever read.
"""

import threading
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from memory.vectors import graphs

# Where weights.bin holds the quantised table: first byte, and one row a piece of the vocabulary.
FIRST_BYTE, SHAPE = 139_264, (51_875, 384)


class WordVectors:
    """Rows of the table as unit vectors; a word of several pieces is their mean."""

    def __init__(self):
        self.pieces = graphs.word_pieces()
        self.table = np.memmap(
            graphs.FOLDER / "weights.bin", np.uint8, mode="r", offset=FIRST_BYTE, shape=SHAPE
        )
        # The mean of the rows says nothing about any of them. Scale and zero point of the numbers
        # fall away with it and with the length.
        self.mean = self.table[1000::7].astype(np.float32).mean(axis=0)
        self._row = lru_cache(maxsize=16_384)(self._compute)

    def of(self, words: Sequence[str]) -> np.ndarray:
        """Return one unit vector per word."""
        if not words:
            return np.zeros((0, self.table.shape[1]), dtype=np.float32)
        return np.stack([self._row(word) for word in words]).astype(np.float32)

    def _compute(self, word: str) -> np.ndarray:
        ids = self.pieces.encode(word, limit=10)[1:-1] or [100]
        vector = self.table[ids].astype(np.float32).mean(axis=0) - self.mean
        return (vector / (np.linalg.norm(vector) + 1e-6)).astype(np.float16)


_lock = threading.Lock()
_loaded: list[WordVectors] = []


def word_vectors() -> WordVectors:
    """Return the table, read on first use."""
    with _lock:
        if not _loaded:
            _loaded.append(WordVectors())
    return _loaded[0]
