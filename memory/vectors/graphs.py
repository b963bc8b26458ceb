"""Keno's own model: graphs that embed, listen and judge, over one file of weights.

Each graph is loaded on first use and kept for the process. The weights are mapped into memory,
not read, so that graphs and processes share them.
"""

import threading
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memory.vectors.wordpiece import WordPiece

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
FOLDER = Path(__file__).parent / "model"
MAX_TOKENS = 256
BATCH = 32
# A text may be padded to so many times its length, or by so little: short ones cost nothing anyway.
PADDED, LITTLE = 1.5, 16
# One thread that does not spin: a second one gains a third and burns the other core while it waits.
THREADS = 1
_lock = threading.RLock()
DIMENSIONS = 384
# So few gain nothing by a batch, and are the ones that come again.
FEW = 4
KEPT = 512


def word_pieces() -> WordPiece:
    """Return the vocabulary that all graphs share."""
    with _lock:
        return _word_pieces()


def session(graph: str) -> "InferenceSession":
    """Return the onnxruntime session of "embed", "listen" or "judge"."""
    with _lock:
        return _session(graph)


def run(graph: str, ids: Sequence[Sequence[int]]) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Run the graph over texts given as token ids; yield (place of the text, its outputs).

    Texts of a batch are of like length, so that little is padding. An output per token is padded
    to the longest of the batch.
    """
    by_length = sorted(range(len(ids)), key=lambda place: len(ids[place]))
    for batch in _batches([len(ids[place]) for place in by_length]):
        places = by_length[batch]
        outputs = session(graph).run(None, _padded([ids[place] for place in places]))
        for row, place in enumerate(places):
            yield place, [output[row] for output in outputs]


@cache
def _word_pieces() -> WordPiece:
    return WordPiece(FOLDER / "vocab.txt")


@cache
def _session(graph: str) -> "InferenceSession":
    # Imported here: commands that never use the model should not pay for it.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        FOLDER / f"{graph}.onnx", options, providers=["CPUExecutionProvider"]
    )


def _padded(ids: list[Sequence[int]]) -> dict[str, np.ndarray]:
    tokens = np.zeros((len(ids), max(map(len, ids))), dtype=np.int64)
    mask = np.zeros_like(tokens)
    for row, line in enumerate(ids):
        tokens[row, : len(line)] = line
        mask[row, : len(line)] = 1
    return {"input_ids": tokens, "attention_mask": mask}


def _batches(lengths: list[int]) -> Iterator[slice]:
    """Cut a rising list of lengths into runs that are worth padding to their longest."""
    start = 0
    for end in range(1, len(lengths) + 1):
        full = end - start == BATCH
        if end == len(lengths) or full or lengths[end] > max(LITTLE, PADDED * lengths[start]):
            yield slice(start, end)
            start = end


class EmbeddedModel:
    """Loaded on first use and kept: 0.1 s once, then 2-3 ms a text."""

    provider = "embedded"
    model = ""
    # Stored beside every vector. The graph was once another file and the digest is that file's:
    # its vectors are equal, so what existing homes stored stays valid. Change the name only
    # together with the vectors.
    name = "minilm-en-es-384@60875a9a"
    dims = DIMENSIONS

    def __init__(self):
        # What is asked about is embedded for recall, for its topic and for its row.
        self._alone = lru_cache(maxsize=KEPT)(lambda text: self._embed([text])[0])

    def embed(self, texts: list[str], *, query: bool = False) -> np.ndarray:
        """Return one row a text."""
        if 0 < len(texts) <= FEW:
            return np.stack([self._alone(text) for text in texts])
        return self._embed(texts)

    def _embed(self, texts: list[str]) -> np.ndarray:
        pieces = word_pieces()
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for place, (vector,) in run("embed", [pieces.encode(text) for text in texts]):
            rows[place] = vector
        return rows
