"""The embedding model that Keno carries: bilingual, int8, on the CPU, no network."""

from functools import lru_cache

import numpy as np

from memory.vectors import graphs

DIMENSIONS = 384
# So few gain nothing by a batch, and are the ones that come again.
FEW = 4
KEPT = 512


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
        pieces = graphs.word_pieces()
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for place, (vector,) in graphs.run("embed", [pieces.encode(text) for text in texts]):
            rows[place] = vector
        return rows
