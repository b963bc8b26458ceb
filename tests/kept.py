"""What a process keeps of the database for some seconds."""

from memory.llm import token_count as tokens
from memory.retrieval import statistics
from memory.vectors import store as embeddings


def forget() -> None:
    for known in (embeddings._cache, statistics._cache, tokens._ratios):
        known.clear()
