"""How alike two texts are in meaning, where a local embedding model can tell."""

import logging
from functools import lru_cache

import numpy as np

from memory.boundaries import similarity
from memory.llm import embed

log = logging.getLogger(__name__)

# Measured on pairs in English and Spanish: what says the same scores higher, what is only about
# the same person or thing ("likes tea", "likes coffee": .82) lower.
SAME = 0.85
# A model's wording of something somebody said, also in the other language, scores higher.
RELATED = 0.45


def likeness(a: str, b: str) -> float | None:
    """-1..1; None when no local model can tell: no network is asked in the middle of a write."""
    if not a.strip() or not b.strip() or not embed.enabled():
        return None
    try:
        if embed.current().provider != "embedded":
            return None
        return float(_vector(a) @ _vector(b))
    except embed.EmbeddingFailed as error:
        log.warning("meaning could not be compared: %s", error)
        return None


def same(a: str, b: str) -> bool:
    found = likeness(a, b)
    return found is not None and found >= SAME


def related(a: str, b: str) -> bool:
    found = likeness(a, b)
    return found is not None and found >= RELATED


def topic(said: str, talk: str) -> float | None:
    """Likeness for boundaries: by words where they tell, by meaning where they share none."""
    by_words = similarity(said, talk)
    if by_words is None or by_words > 0:
        return by_words
    return max(0.0, likeness(said, talk[-2000:]) or 0.0)


@lru_cache(maxsize=4096)
def _vector(text: str) -> np.ndarray:
    return embed.embed_query(text)
