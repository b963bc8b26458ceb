"""How common a word is, from what Postgres knows of its own tables.

Counting a common word in a million rows takes longer than a whole recall may. ANALYZE keeps the
share of the commonest words and scopes; whatever is not among them is rare and is counted.
"""

import time
from dataclasses import dataclass, field

from django.db import connection

from memory.text import normalise as text

# Below this everything is counted: it is exact and takes a millisecond.
COUNT_UP_TO = 20_000
CACHE_SECONDS = 60

SQL = """
SELECT s.attname, s.most_common_elems::text::text[], s.most_common_elem_freqs, c.reltuples
FROM pg_class c LEFT JOIN pg_stats s
  ON s.schemaname = c.relnamespace::regnamespace::text AND s.tablename = c.relname
  AND s.attname IN ('words', 'scopes')
WHERE c.oid = 'memory_unit'::regclass
"""


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
        cursor.execute(SQL)
        records = cursor.fetchall()
    rows = records[0][3]
    if rows < COUNT_UP_TO:
        return Statistics()
    # The frequencies have a few more entries than the elements: their least, greatest, nulls.
    shares = {
        name: dict(zip(elems, freqs, strict=False)) for name, elems, freqs, _ in records if elems
    }
    return Statistics(rows, shares.get("words", {}), shares.get("scopes", {}))
