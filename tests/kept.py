"""What a process keeps of the database for some seconds."""

from memory.llm import pricing
from memory.models import encryption, space
from memory.retrieval import judge, keywords
from memory.vectors import store as embeddings

KEPT = (
    embeddings._cache,
    encryption._caches,
    keywords._cache,
    pricing._ratios,
    judge._kept,
    space._space_cache,
)


def forget() -> None:
    for known in KEPT:
        known.clear()
