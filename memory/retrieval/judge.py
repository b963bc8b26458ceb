"""Our own judge: a small model reads the question and one memory together: does it help?

It ranks: its opinion of the best candidates is one more feature, through the logit, because a right
answer may have a small probability and still be far ahead of the others.
"""

import math
import re
from collections.abc import Callable, Sequence
from time import perf_counter

from memory.retrieval.keywords import content_words
from memory.retrieval.lanes import Candidate
from memory.vectors import graphs

QUESTION_TOKENS, MEMORY_TOKENS = 48, 120
# How many of the best are read, and how many at once: between batches the time is looked at.
MAX_JUDGED, BATCH = 24, 8
# The logits that count as 0 and as 1.
LOWEST, HIGHEST = -12.0, 4.0
# A longer memory is cut to the part that has most of the question's words.
LONG = 400
# What was thought without haste, by question and memory: a trial asks the same again and again.
MAX_KEPT = 20_000
_kept: dict[tuple[str, str], float] = {}
_SENTENCE = re.compile(r"(?<=[.!?…\n])\s+")


def opinions(
    question: str,
    memories: Sequence[str],
    *,
    budget_ms: float = math.inf,
    clock: Callable[[], float] = perf_counter,
) -> list[float]:
    """Return how well each memory answers, 0..1, in their order; fewer when the time is spent."""
    began = clock()
    values: list[float] = []
    asked = graphs.word_pieces().encode(question, limit=QUESTION_TOKENS + 2)
    for start in range(0, len(memories), BATCH):
        if (clock() - began) * 1000 >= budget_ms:
            break
        batch = [_pair(asked, memory) for memory in memories[start : start + BATCH]]
        found = dict(graphs.run("judge", batch))
        values += [_scaled(float(found[place][0].item())) for place in range(len(batch))]
    return values


def settled(question: str, memories: Sequence[str]) -> list[float]:
    """Return the same without a limit of time, each pair read once: the same however often."""
    unread = [one for one in dict.fromkeys(memories) if (question, one) not in _kept]
    if len(_kept) + len(unread) > MAX_KEPT:
        _kept.clear()
        unread = list(dict.fromkeys(memories))
    found = opinions(question, unread) if unread else []
    _kept.update(zip(((question, one) for one in unread), found, strict=True))
    return [_kept[question, one] for one in memories]


def as_read(unit: Candidate, question: str) -> str:
    """Return the memory as the judge was taught to read it: a message with its speaker."""
    words = _best_part(unit.text, question) if len(unit.text) > LONG else unit.text
    return f"{unit.speaker}: {words}" if unit.kind == "message" and unit.speaker else words


def _pair(asked: list[int], memory: str) -> list[int]:
    return asked + graphs.word_pieces().encode(memory, limit=MEMORY_TOKENS + 2)[1:]


def _scaled(probability: float) -> float:
    safe = min(max(probability, 1e-7), 1 - 1e-7)
    logit = math.log(safe / (1 - safe))
    return (min(max(logit, LOWEST), HIGHEST) - LOWEST) / (HIGHEST - LOWEST)


def _best_part(memory: str, question: str) -> str:
    """Return the run of sentences with most words of the question, at most LONG characters."""
    wanted, sentences = set(content_words(question)), _SENTENCE.split(memory)
    hits = [len(wanted.intersection(content_words(sentence))) for sentence in sentences]
    first = max(range(len(sentences)), key=lambda place: hits[place])
    part = sentences[first]
    for sentence in sentences[first + 1 :]:
        if len(part) + len(sentence) > LONG:
            break
        part = f"{part} {sentence}"
    return part[: 2 * LONG]
