"""Compare the meaning of two texts, by a local embedding model."""

import logging
from functools import lru_cache

import numpy as np

from memory.text.summaries import similarity
from memory.vectors import embed

log = logging.getLogger(__name__)

# Measured on pairs in English and Spanish: what says the same scores higher, what is only about
# the same person or thing ("likes tea", "likes coffee": .82) lower.
SAME_FROM = 0.85
# A model's wording of a message, also in the other language, scores higher.
RELATED_FROM = 0.45


def likeness(a: str, b: str) -> float | None:
    """Return the similarity, -1..1; None without a local model, as a write waits for no network."""
    if not a.strip() or not b.strip() or not embed.enabled():
        return None
    try:
        if embed.current().provider != "embedded":
            return None
        return float(_vector(a) @ _vector(b))
    except embed.EmbeddingFailed as error:
        log.warning("meaning could not be compared: %s", error)
        return None


def vectors(texts: list[str]) -> np.ndarray | None:
    """The vector of each text; None when no local model can tell."""
    if not texts or not embed.enabled():
        return None
    try:
        if embed.current().provider != "embedded":
            return None
        return np.asarray(embed.embed(texts))
    except embed.EmbeddingFailed as error:
        log.warning("meaning could not be compared: %s", error)
        return None


def table(rows: list[str], columns: list[str]) -> np.ndarray | None:
    """How alike each row is to each column; None when no local model can tell."""
    if not rows or not columns:
        return None
    found = vectors([*rows, *columns])
    return None if found is None else found[: len(rows)] @ found[len(rows) :].T


def same(a: str, b: str) -> bool:
    score = likeness(a, b)
    return score is not None and score >= SAME_FROM


def related(a: str, b: str) -> bool:
    score = likeness(a, b)
    return score is not None and score >= RELATED_FROM


def topic(message: str, talk: str) -> float | None:
    """Return the similarity for boundaries: by words, and by meaning where no word is shared."""
    by_words = similarity(message, talk)
    if by_words is None or by_words > 0:
        return by_words
    return max(0.0, likeness(message, talk[-2000:]) or 0.0)


@lru_cache(maxsize=4096)
def _vector(text: str) -> np.ndarray:
    return embed.embed_query(text)
