"""Compare the meaning of two texts, by a local embedding model."""

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np

from memory.text.summaries import similarity
from memory.vectors import embed

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

# Measured on pairs in English and Spanish: what says the same scores higher, what is only about
# the same person or thing ("likes tea", "likes coffee": .82) lower.
SAME_FROM = 0.85


def likeness(a: str, b: str) -> float | None:
    """Return the similarity, -1..1; None without a local model."""
    if not a.strip() or not b.strip():
        return None
    return _locally(lambda: float(_vector(a) @ _vector(b)))


def vectors(texts: list[str]) -> np.ndarray | None:
    """Return the vector of each text; None without a local model."""
    return _locally(lambda: np.asarray(embed.embed(texts))) if texts else None


def _locally(measure: Callable[[], Answer]) -> Answer | None:
    """Measure by the local model; None without one, as a write waits for no network."""
    if not embed.enabled() or embed.current().provider != "embedded":
        return None
    try:
        return measure()
    except embed.EmbeddingFailed as error:
        log.warning("meaning could not be compared: %s", error)
        return None


def table(rows: list[str], columns: list[str]) -> np.ndarray | None:
    """Return how alike each row is to each column; None without a local model."""
    if not rows or not columns:
        return None
    both = vectors([*rows, *columns])
    return None if both is None else both[: len(rows)] @ both[len(rows) :].T


def same(a: str, b: str) -> bool:
    score = likeness(a, b)
    return score is not None and score >= SAME_FROM


def topic(message: str, talk: str) -> float | None:
    """Return the similarity for boundaries: by words, and by meaning where no word is shared."""
    by_words = similarity(message, talk)
    if by_words is None or by_words > 0:
        return by_words
    return max(0.0, likeness(message, talk[-2000:]) or 0.0)


@lru_cache(maxsize=4096)
def _vector(text: str) -> np.ndarray:
    return embed.embed_query(text)
