"""Find the keywords of a question, how rare each is, and other words for them by a fast model."""

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from django.db import connection

from memory.text import normalise as text

log = logging.getLogger(__name__)
MAX_KEYWORDS = 40
CACHE_SIZE = 1000
Expand = Callable[[list[str]], Sequence[str] | None]
_FOLDED_STOPS = {
    language: {text.fold(word) for word in words} for language, words in text.STOP_WORDS.items()
}
_EVERY_STOP = frozenset().union(*_FOLDED_STOPS.values())
# What is stored is clean already: text.words() would clean it again, hundreds of times a question.
_STORED_WORD = re.compile(r"\w+(?:'\w+)?")
_SHORT_NAME = re.compile(r"[A-Z]{2}|\w?\d\w?")
# Below this everything is counted: it is exact and takes a millisecond.
COUNT_UP_TO = 20_000
CACHE_SECONDS = 60
STATISTICS = """
SELECT s.attname, s.most_common_elems::text::text[], s.most_common_elem_freqs, c.reltuples
FROM pg_class c LEFT JOIN pg_stats s
  ON s.schemaname = c.relnamespace::regnamespace::text AND s.tablename = c.relname
  AND s.attname IN ('words', 'scopes')
WHERE c.oid = 'memory_unit'::regclass
"""


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


@dataclass(frozen=True)
class Statistics:
    rows: float = 0
    words: dict[str, float] = field(default_factory=dict)
    scopes: dict[str, float] = field(default_factory=dict)

    def size(self, scopes: list[int]) -> int | None:
        """Estimate how many units these scopes hold; None when they must be counted."""
        shares = [self.scopes[str(scope)] for scope in scopes if str(scope) in self.scopes]
        return round(self.rows * sum(shares)) if shares else None

    def count(self, word: str, *, size: int | None) -> int | None:
        """Estimate how many of `size` units hold the word; None when they must be counted."""
        if size is None:
            return None
        shares = [self.words[form] for form in index_forms(word) if form in self.words]
        return max(1, round(size * max(shares))) if shares else None


def index_forms(word: str) -> set[str]:
    """Return the forms the word may have in the index: see keno_query."""
    folded = text.fold(word)
    return {folded, text.stem(folded, "en"), text.stem(folded, "es")}


# By database: the statistics and until when they count, by the monotonic clock.
_cache: dict[str, tuple[Statistics, float]] = {}


def current() -> Statistics:
    """Return the statistics, read at most once a minute: only ANALYZE changes them."""
    key = connection.settings_dict["NAME"]
    statistics, until = _cache.get(key, (Statistics(), 0.0))
    if until < time.monotonic():
        statistics = _read()
        _cache[key] = (statistics, time.monotonic() + CACHE_SECONDS)
    return statistics


def _read() -> Statistics:
    with connection.cursor() as cursor:
        cursor.execute(STATISTICS)
        records = cursor.fetchall()
    rows = records[0][3]
    if rows < COUNT_UP_TO:
        return Statistics()
    # The frequencies have a few more entries than the elements: their least, greatest, nulls.
    shares = {
        name: dict(zip(elems, freqs, strict=False)) for name, elems, freqs, _ in records if elems
    }
    return Statistics(rows, shares.get("words", {}), shares.get("scopes", {}))
