"""The meaning of single words, read straight out of the embedded model's own table.

"Kids" is near "children" and "niños" there, without running the model. The table is mapped, not
loaded: only the rows of words that occur are ever read.
"""

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from memory.llm.embedded import FOLDER
from memory.llm.wordpiece import WordPiece

TABLE = "word_embeddings.weight_quantized"
# Field numbers of ONNX: model.graph, graph.initializer, tensor.dims / name / raw_data.
GRAPH, INITIALIZER, DIMS, NAME, RAW = 7, 5, 1, 8, 9


class WordVectors:
    """Rows of the table as unit vectors; a word of several pieces is their mean."""

    def __init__(self, folder: Path = FOLDER):
        self.pieces = WordPiece(folder / "vocab.txt")
        file = np.memmap(folder / "model_int8.onnx", dtype=np.uint8, mode="r")
        dims, start, size = _table(file)
        self.table = file[start : start + size].reshape(dims)
        # The mean of the rows says nothing about any of them. Scale and zero point of the numbers
        # fall away with it and with the length.
        self.mean = self.table[1000 : dims[0] : 7].astype(np.float32).mean(axis=0)
        self._row = lru_cache(maxsize=16_384)(self._compute)

    def of(self, words: Sequence[str]) -> np.ndarray:
        """One unit vector a word."""
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
    """Read on first use and kept."""
    with _lock:
        if not _loaded:
            _loaded.append(WordVectors())
    return _loaded[0]


def _table(file: np.ndarray) -> tuple[list[int], int, int]:
    """(shape, first byte, length) of the table of words."""
    graph = next((a, b) for number, a, b in _fields(file, 0, len(file)) if number == GRAPH)
    for number, start, end in _fields(file, *graph):
        if number != INITIALIZER:
            continue
        dims, name, raw = [], "", (0, 0)
        for inner, first, last in _fields(file, start, end):
            if inner == DIMS:
                dims += _varints(file, first, last)
            elif inner == NAME:
                name = bytes(file[first:last]).decode()
            elif inner == RAW:
                raw = (first, last - first)
        if name.endswith(TABLE):
            return dims, *raw
    raise ValueError("The embedded model has no table of words.")


def _fields(file: np.ndarray, start: int, end: int):
    """(field number, first byte, end) of a protobuf message; a number's bytes are its value's."""
    while start < end:
        tag, start = _varint(file, start)
        number, wire = tag >> 3, tag & 7
        if wire == 2:
            size, start = _varint(file, start)
            yield number, start, start + size
            start += size
        elif wire == 0:
            _, after = _varint(file, start)
            yield number, start, after
            start = after
        else:
            size = {1: 8, 5: 4}[wire]
            yield number, start, start + size
            start += size


def _varints(file: np.ndarray, start: int, end: int) -> list[int]:
    values = []
    while start < end:
        value, start = _varint(file, start)
        values.append(value)
    return values


def _varint(file: np.ndarray, start: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = int(file[start])
        value |= (byte & 0x7F) << shift
        start += 1
        if byte < 0x80:
            return value, start
        shift += 7
