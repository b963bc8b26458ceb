"""Our own judge: a small model reads the question and one memory together: does it help?

It ranks: its opinion of the best candidates is one more feature, through the logit, because a right
answer may have a small probability and still be far ahead of the others.
"""

import math
import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from time import perf_counter

from memory.retrieval.keywords import content_words
from memory.retrieval.lanes import Candidate
from memory.text.normalise import as_sentence
from memory.text.summaries import without_lead_in
from memory.vectors import graphs

QUESTION_TOKENS = 48
MEMORY_TOKENS = 150
# How many of the best are read, and how many before the time is looked at again.
MAX_JUDGED = 16
AT_ONCE = 8
# The logits that count as 0 and as 1.
LOWEST = -12.0
HIGHEST = 4.0
# A longer memory is cut to the part that has most of the question's words.
LONG = 400
# What was thought, by the hash of question and memory: their words are not kept.
MAX_KEPT = 50_000
_kept: dict[int, float] = {}
_SENTENCE = re.compile(r"(?<=[.!?…\n])\s+")
_CLAUSE = re.compile(r"(?<=[;:,—–])\s+")


def opinions(
    question: str,
    memories: Sequence[str],
    *,
    budget_ms: float = math.inf,
    clock: Callable[[], float] = perf_counter,
) -> list[float]:
    """Return how well each memory answers, 0..1, in their order; fewer when the time is spent.

    A pair is read once: recall, the answerer and every trial share what was thought of it. Of a
    long message each memory is read with the part that it may answer.
    """
    began = clock()
    if len(_kept) > MAX_KEPT:
        _kept.clear()
    parts = _parts(question)
    pairs = [(_part_about(memory, parts), memory) for memory in memories]
    keys = [hash(pair) for pair in pairs]
    known = {key: opinion for key in keys if (opinion := _kept.get(key)) is not None}
    unread = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
    for start in range(0, len(unread), AT_ONCE):
        if (clock() - began) * 1000 >= budget_ms:
            break
        some = list(unread)[start : start + AT_ONCE]
        known |= dict(zip(some, _read([unread[key] for key in some]), strict=True))
    _kept.update(known)
    return [known[key] for key in takewhile(known.__contains__, keys)]


def as_read(unit: Candidate, question: str) -> str:
    """Return the memory as the judge was taught to read it: a message with its speaker.

    What it may answer stands in front: "Momo" alone tells nothing.
    """
    words = _best_part(unit.text, question) if len(unit.text) > LONG else unit.text
    if unit.kind != "message" or not unit.speaker:
        return words
    return f"{unit.replies_to} {unit.speaker}: {words}".lstrip()


def _parts(question: str) -> list[str]:
    """Split a long message into parts that are read whole: people change the subject on the way.

    Each question is a part of its own.
    """
    question = without_lead_in(question)
    if _size(question) <= QUESTION_TOKENS:
        return [question]
    parts = [""]
    for sentence in _SENTENCE.split(question.strip()):
        is_long, asks = _size(sentence) > QUESTION_TOKENS, sentence.endswith("?")
        for place, piece in enumerate(_CLAUSE.split(sentence) if is_long else [sentence]):
            joined = f"{parts[-1]} {piece}".lstrip()
            is_new = (asks and place == 0) or parts[-1].endswith("?")
            if parts[-1] and (is_new or _size(joined) > QUESTION_TOKENS):
                parts.append(piece)
            else:
                parts[-1] = joined
    return [without_lead_in(part) for part in parts]


def _size(text: str) -> int:
    return len(graphs.word_pieces().encode(text, limit=QUESTION_TOKENS + 3)) - 2


def _part_about(memory: str, parts: Sequence[str]) -> str:
    """Return the part with most words of the memory; of equal ones what asks, then the first."""
    if len(parts) == 1:
        return parts[0]
    words = set(content_words(memory))
    return max(parts, key=lambda part: (len(words.intersection(content_words(part))), "?" in part))


def _read(pairs: Sequence[tuple[str, str]]) -> list[float]:
    pieces = graphs.word_pieces()
    asked = {part: pieces.encode(part, limit=QUESTION_TOKENS + 2) for part, _ in pairs}
    # It was taught sentences: without its full stop it doubts what it knows.
    rows = [
        asked[part] + pieces.encode(as_sentence(memory), limit=MEMORY_TOKENS + 2)[1:]
        for part, memory in pairs
    ]
    return [_scaled(float(probability.item())) for (probability,) in graphs.run("judge", rows)]


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
