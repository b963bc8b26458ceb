"""The embedding model that Keno carries: bilingual, int8, on the CPU, no network."""

import hashlib
import threading
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from memory.llm.wordpiece import WordPiece

FOLDER = Path(__file__).parent / "embedded_model"
DIMENSIONS = 384
BATCH = 32
# A text may be padded to so many times its length, or by so little: short ones cost nothing anyway.
PADDED, LITTLE = 1.5, 16
# One thread that does not spin: a second one gains a third and burns the other core while it waits.
THREADS = 1
# So few gain nothing by a batch, and are the ones that come again.
FEW = 4
KEPT = 512


class EmbeddedModel:
    """Loaded on first use and kept: 0.3 s and 115 MB once, then 2-3 ms a text."""

    provider = "embedded"
    model = ""
    dims = DIMENSIONS

    def __init__(self, folder: Path = FOLDER):
        self.folder = folder
        self._lock = threading.Lock()
        # What is asked about is embedded for recall, for its topic and for its row.
        self._alone = lru_cache(maxsize=KEPT)(lambda text: self._embed([text])[0])

    @cached_property
    def name(self) -> str:
        digest = hashlib.sha256((self.folder / "model_int8.onnx").read_bytes()).hexdigest()
        return f"minilm-en-es-384@{digest[:8]}"

    @cached_property
    def pieces(self) -> WordPiece:
        return WordPiece(self.folder / "vocab.txt")

    @cached_property
    def session(self):
        # Imported here: commands that never embed should not pay for it.
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            self.folder / "model_int8.onnx", options, providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: list[str], *, query: bool = False) -> np.ndarray:
        """One row a text."""
        if 0 < len(texts) <= FEW:
            return np.stack([self._alone(text) for text in texts])
        return self._embed(texts)

    def _embed(self, texts: list[str]) -> np.ndarray:
        """Texts of a batch are of like length, so little is padding."""
        with self._lock:
            pieces, session = self.pieces, self.session
        ids = [pieces.encode(text) for text in texts]
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        by_length = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        for batch in _alike([len(ids[i]) for i in by_length]):
            places = by_length[batch]
            rows[places] = self._run(session, [ids[i] for i in places])
        return rows

    def _run(self, session, ids: list[list[int]]) -> np.ndarray:
        longest = max(map(len, ids))
        tokens = np.zeros((len(ids), longest), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, line in enumerate(ids):
            tokens[row, : len(line)] = line
            mask[row, : len(line)] = 1
        return session.run(None, {"input_ids": tokens, "attention_mask": mask})[0]


def _alike(lengths: list[int]) -> Iterator[slice]:
    """Runs of a rising list of lengths that are worth padding to the longest of them."""
    start = 0
    for end in range(1, len(lengths) + 1):
        full = end - start == BATCH
        if end == len(lengths) or full or lengths[end] > max(LITTLE, PADDED * lengths[start]):
            yield slice(start, end)
            start = end
