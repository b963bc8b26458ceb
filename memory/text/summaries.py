"""Summarise text without a model. Pure."""

import re
from collections import Counter
from collections.abc import Sequence

from memory.text import normalise as text
from memory.text.stop_words import TITLES

# Not behind "Dr." and its like.
_NAMED = "".join(rf"(?<!\b{name}\.)" for name in TITLES)
SENTENCE = re.compile(rf"(?<=[.!?…。！？]){_NAMED}\s+|\n+")
GREETING = re.compile(
    r"^(?:hi|hello|hey|hola|buenas|good (?:morning|afternoon|evening)|buenos días|"
    r"buenas (?:tardes|noches))\b[\s,!.]*",
    re.IGNORECASE,
)
TITLE_LENGTH = 80
# Longer than this is judged by its beginning: the rest would only cost time.
MAX_LENGTH = 200_000


def sentences(body: str) -> list[str]:
    parts = (part.strip(" \t-*•>#") for part in SENTENCE.split(body[:MAX_LENGTH]))
    return [part for part in parts if part]


def title(body: str) -> str:
    """Return the first sentence with content, shortened."""
    for sentence in sentences(body)[:20]:
        bare = GREETING.sub("", _without_speaker(sentence))
        if len(text.stems(bare)) >= 2:
            return text.short(bare, TITLE_LENGTH).strip()
    first = next(iter(sentences(body)), "")
    return text.short(first, TITLE_LENGTH).strip()


def tags(body: str, *, limit: int = 6) -> list[str]:
    """Return the most frequent content words, as they were first written."""
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for word in text.words(body[:MAX_LENGTH]):
        stem = next(iter(text.stems(word)), "")
        if stem and len(word) > 3 and not word.isdigit():
            counts[stem] += 1
            spelling.setdefault(stem, word)
    often = [stem for stem, n in counts.most_common(limit) if n > 1]
    return [spelling[stem][:64] for stem in often]


def extract(bodies: Sequence[str], *, lines: int = 8, length: int = 240) -> str:
    """Return the sentences that share most with the rest, in their order."""
    candidates = [sentence for body in bodies for sentence in sentences(body)]
    candidates = list(dict.fromkeys(candidates))[:400]
    if len(candidates) <= lines:
        chosen = range(len(candidates))
    else:
        stems = [text.stems(sentence) for sentence in candidates]
        weight = Counter(stem for sentence_stems in stems for stem in sentence_stems)
        scores = [
            sum(weight[stem] for stem in sentence_stems) / (len(sentence_stems) + 4)
            for sentence_stems in stems
        ]
        best = sorted(range(len(candidates)), key=lambda i: -scores[i])[:lines]
        chosen = sorted(best)
    return "\n".join(f"- {text.short(candidates[i], length)}" for i in chosen)


def _without_speaker(sentence: str) -> str:
    name, colon, rest = sentence.partition(": ")
    return rest if colon and len(name) <= 40 and len(name.split()) <= 3 and rest else sentence
