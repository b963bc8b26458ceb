"""What a process keeps of the database for some seconds."""

from memory.llm import pricing
from memory.retrieval import judge, keywords
from memory.vectors import store as embeddings


def forget() -> None:
    for known in (embeddings._cache, keywords._cache, pricing._ratios, judge._kept):
        known.clear()
