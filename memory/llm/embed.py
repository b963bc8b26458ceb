"""Text to vectors, by the provider that the settings name."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from django.conf import settings

from memory.llm.embedded import EmbeddedModel
from memory.llm.remote_embedding import Gemini, OpenAI

# pgvector's HNSW index refuses more.
MOST_DIMENSIONS = 2000
LONGEST_TEXT = 8000


class EmbeddingFailed(Exception):
    """The embedding provider gave no usable vectors; words still find everything."""


class Embedder(Protocol):
    provider: str
    model: str
    name: str
    dims: int

    def embed(self, texts: list[str], *, query: bool = False) -> Sequence: ...


def enabled() -> bool:
    return settings.EMBEDDING_ENABLED


def current() -> Embedder:
    """The embedder of the settings; the same object as long as they stay the same."""
    return embedder(
        settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS
    )


def embedder(provider: str, model: str, dims: int) -> Embedder:
    """A named one; its address and key come from the settings."""
    return _embedder(provider, model, dims, settings.EMBEDDING_BASE_URL, settings.EMBEDDING_API_KEY)


@lru_cache(maxsize=4)
def _embedder(provider: str, model: str, dims: int, base_url: str, key: str) -> Embedder:
    if provider == "openai":
        return OpenAI(model=model, dims=dims, base_url=base_url, key=key)
    if provider == "gemini":
        return Gemini(model=model, dims=dims, base_url=base_url, key=key)
    return EmbeddedModel()


def embed(texts: list[str], *, query: bool = False, by: Embedder | None = None) -> Sequence:
    """One row a text, in order. Rows may be bad: pass each through good_vector()."""
    if not texts:
        return []
    if not enabled():
        raise EmbeddingFailed("Embeddings are switched off (EMBEDDING_ENABLED).")
    try:
        rows = (by or current()).embed([text[:LONGEST_TEXT] for text in texts], query=query)
    except Exception as error:
        # Whatever a provider does wrong (network, JSON, shapes), a memory is never lost by it.
        raise EmbeddingFailed(f"{type(error).__name__}: {error}"[:300]) from error
    if len(rows) != len(texts):
        raise EmbeddingFailed(f"Asked for {len(texts)} vectors, got {len(rows)}.")
    return rows


def embed_query(text: str, *, by: Embedder | None = None) -> np.ndarray:
    """The vector of a question, embedded alone: batch mates would move its third decimal."""
    by = by or current()
    vector = good_vector(embed([text], query=True, by=by)[0], dims=by.dims)
    if vector is None:
        raise EmbeddingFailed("The provider's vector for the question is unusable.")
    return vector


def good_vector(values: object, *, dims: int) -> np.ndarray | None:
    """The vector with length one; None when it has the wrong size, is zero or not finite."""
    try:
        vector = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    if vector.shape != (dims,) or not np.isfinite(vector).all():
        return None
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-6 else None
