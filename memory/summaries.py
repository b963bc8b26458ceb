"""Saying in short what was said at length, without a model. Pure."""

import re
from collections import Counter
from collections.abc import Sequence

from memory import text
from memory.stop_words import TITLES

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
READ = 200_000


def sentences(body: str) -> list[str]:
    parts = (part.strip(" \t-*•>#") for part in SENTENCE.split(body[:READ]))
    return [part for part in parts if part]


def title(body: str) -> str:
    """The first sentence that says something, short."""
    for sentence in sentences(body)[:20]:
        bare = GREETING.sub("", _without_speaker(sentence))
        if len(text.stems(bare)) >= 2:
            return text.short(bare, TITLE_LENGTH).strip()
    first = next(iter(sentences(body)), "")
    return text.short(first, TITLE_LENGTH).strip()


def tags(body: str, *, limit: int = 6) -> list[str]:
    """The words of meaning said most often, as they were first written."""
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for word in text.words(body[:READ]):
        stem = next(iter(text.stems(word)), "")
        if stem and len(word) > 3 and not word.isdigit():
            counts[stem] += 1
            spelling.setdefault(stem, word)
    often = [stem for stem, n in counts.most_common(limit) if n > 1]
    return [spelling[stem][:64] for stem in often]


def extract(bodies: Sequence[str], *, lines: int = 8, length: int = 240) -> str:
    """The sentences that share most with the rest, in the order they were said."""
    said = [sentence for body in bodies for sentence in sentences(body)]
    said = list(dict.fromkeys(said))[:400]
    if len(said) <= lines:
        chosen = range(len(said))
    else:
        stems = [text.stems(sentence) for sentence in said]
        weight = Counter(stem for one in stems for stem in one)
        scores = [sum(weight[stem] for stem in one) / (len(one) + 4) for one in stems]
        best = sorted(range(len(said)), key=lambda i: -scores[i])[:lines]
        chosen = sorted(best)
    return "\n".join(f"- {text.short(said[i], length)}" for i in chosen)


def _without_speaker(sentence: str) -> str:
    name, colon, rest = sentence.partition(": ")
    return rest if colon and len(name) <= 40 and len(name.split()) <= 3 and rest else sentence
