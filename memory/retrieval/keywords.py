"""Find the keywords of a question, and other words for them by a fast model."""

import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory.text import normalise as text

log = logging.getLogger(__name__)

MAX_KEYWORDS = 16
CACHE_SIZE = 1000
Expand = Callable[[list[str]], Sequence[str] | None]

_FOLDED_STOPS = {
    language: {text.fold(word) for word in words} for language, words in text.STOP_WORDS.items()
}
_EVERY_STOP = frozenset().union(*_FOLDED_STOPS.values())
# What is stored is clean already: text.words() would clean it again, hundreds of times a question.
_STORED_WORD = re.compile(r"\w+(?:'\w+)?")
_SHORT_NAME = re.compile(r"[A-Z]{2}|\w?\d\w?")


def keywords(question: str, *, language: str = "") -> list[str]:
    """Return the words that carry the topic, in order, each once, without stop words."""
    stops = _FOLDED_STOPS.get(language or text.detect_language(question), _EVERY_STOP)
    written = {text.fold(word): word for word in re.findall(r"\w+", question)}
    kept: dict[str, str] = {}
    for word in text.words(question):
        word = word.removesuffix("'s").replace("'", "")
        folded = text.fold(word)
        # "AI", "UK" and "C4" are short and still say something.
        long_enough = len(word) > 2 or _SHORT_NAME.fullmatch(written.get(folded, ""))
        if long_enough and folded not in stops:
            kept.setdefault(folded, word)
    return list(kept.values())[:MAX_KEYWORDS]


@lru_cache(maxsize=8192)
def content_words(value: str) -> tuple[str, ...]:
    """Return the words of a memory that carry its topic, folded, each once."""
    words = dict.fromkeys(_STORED_WORD.findall(text.fold(value[:4000])))
    return tuple(word for word in words if word not in _EVERY_STOP)


def is_stop(folded: str) -> bool:
    return folded in _EVERY_STOP


@dataclass(frozen=True)
class Hit:
    text: str
    score: int
    matched: tuple[str, ...]


def match(items: Sequence[str], words: Sequence[str], *, limit: int = 10) -> list[Hit]:
    """KenoBot's matcher, in any script: 3 points for a whole word, 1 for a part of one."""
    hits = [hit for item in items if (hit := _points(item, words)).score]
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


def _points(item: str, words: Sequence[str]) -> Hit:
    folded = text.fold(item)
    whole = set(text.words(folded))
    points = {}
    for word in map(text.fold, words):
        points[word] = 3 if word in whole else int(word in folded)
    return Hit(item, sum(points.values()), tuple(w for w, n in points.items() if n))


class Expansion:
    """Ask a fast model for other words, cache its answers, and go on without when it fails."""

    def __init__(self, size: int = CACHE_SIZE):
        self.size = size
        self.cache: OrderedDict[str, list[str]] = OrderedDict()

    def __call__(self, question: str, words: list[str], expand: Expand | None) -> list[str]:
        """Return the words to search with: the model's when it gives any, else `words`."""
        if not words or expand is None:
            return words
        key = question.strip().lower()[:100]
        if key not in self.cache:
            answer = self._ask(words, expand)
            if not answer:
                return words  # not remembered: the model may be back for the next question
            self.cache[key] = answer
            while len(self.cache) > self.size:
                self.cache.popitem(last=False)
        self.cache.move_to_end(key)
        return self.cache[key]

    def _ask(self, words: list[str], expand: Expand) -> list[str]:
        try:
            answer = expand(words)
        except Exception as error:
            log.warning("expanding the question failed: %s", error)
            return []
        if not isinstance(answer, list | tuple):
            return []
        terms = [text.one_line(term)[:60] for term in answer if isinstance(term, str)]
        return list(dict.fromkeys(filter(None, terms)))[:MAX_KEYWORDS]


expansion = Expansion()
