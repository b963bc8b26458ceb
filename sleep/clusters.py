"""Groups of claims that say the same, and claims that cannot hold together. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np

from memory.extraction.frames.clauses import is_negative
from memory.extraction.frames.compare import compare
from memory.extraction.frames.reading import frames_of
from memory.extraction.frames.vocabulary import are_opposite, canonical, terms, tokens
from memory.models import Embedding, Fact, Space
from memory.text.normalise import STOP_WORDS, fold, jaccard, said_key, stem, words
from memory.vectors import store as embeddings

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d[\d.:,/-]*")
SAME_THRESHOLD = 0.7
# A stem shared by more claims than this says nothing about sameness, and comparing them all costs.
COMMON_STEM = 200
_STOPS = {fold(word) for some in STOP_WORDS.values() for word in some}


def contradict(a: str, b: str, *, subject: str = "") -> str:
    """Why both cannot be true ("value", "negation", "number" …); empty when they can.

    Which was said first does not matter here.
    """
    for old, new in ((a, b), (b, a)):
        verdict = compare(old, new, subject=subject)
        if verdict.changes:
            return verdict.reason
    return ""


def differ(a: str, b: str, *, subject: str = "") -> str:
    """Why two like sentences are not one ("number", "name", "opposite" …); empty when they are.

    Stricter than a contradiction: "flies on Monday" and "flies on Tuesday" may both be true, but
    one cannot stand for the other.
    """
    if why := contradict(a, b, subject=subject):
        return why
    if _negated(a) != _negated(b):
        return "negation"
    if _numbers(a) != _numbers(b):
        return "number"
    left, right = _names(a), _names(b)
    # "Ana Ruiz" and "Ana" are one person told twice.
    if not (left <= right or right <= left):
        return "name"
    one, other = _words(a), _words(b)
    is_opposite = any(are_opposite(a, b) for a in one - other for b in other - one)
    return "opposite" if is_opposite else ""


def buckets(text: str, subject: str = "") -> list[str]:
    """Claims that could contradict each other share one of these keys, or words."""
    found = frames_of(text, subject=subject)
    return [f"{' '.join(sorted(terms(subject) | one.holder))}|{one.key}" for one in found]


@lru_cache(maxsize=4096)
def _negated(text: str) -> bool:
    return is_negative(text)


def _names(text: str) -> set[str]:
    """Words that are written like names inside the sentence."""
    inside = [word for word in _WORD.findall(text)[1:] if word[0].isupper()]
    return {canonical(fold(word)) or fold(word) for word in inside}


def _words(text: str) -> set[str]:
    return {canonical(word) or word for word in tokens(text)}


def _numbers(text: str) -> set[str]:
    return {number.strip(".,:/-") for number in _NUMBER.findall(text)}


def gist(text: str) -> frozenset[str]:
    """The stems that carry the meaning; all of them when nothing else is left."""
    said = [fold(word) for word in words(text)]
    kept = [word for word in said if word not in _STOPS] or said
    return frozenset(stem(word, "en") for word in kept)


def group_same(
    texts: Sequence[str], scopes: Sequence[Hashable], *, alike: float = SAME_THRESHOLD
) -> list[list[int]]:
    """Positions grouped by meaning within a scope, in order of first appearance."""
    return connected_groups(len(texts), pairs(texts, scopes, alike=alike))


def connected_groups(count: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Positions 0..count-1 in groups: whatever a chain of pairs connects is one."""
    parent = list(range(count))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, j in pairs:
        a, b = sorted((root(i), root(j)))
        parent[b] = a
    groups: dict[int, list[int]] = defaultdict(list)
    for i in range(count):
        groups[root(i)].append(i)
    return [groups[i] for i in sorted(groups)]


def pairs(
    texts: Sequence[str], scopes: Sequence[Hashable], *, alike: float = SAME_THRESHOLD
) -> list[tuple[int, int]]:
    """Every pair (i < j) of one scope that says the same, by key or by Jaccard of stems."""
    gists = [gist(text) for text in texts]
    found: list[tuple[int, int]] = []
    first_with_key: dict[tuple, int] = {}
    index: dict[tuple, list[int]] = defaultdict(list)
    rarity = Counter(word for one in gists for word in one)
    for j, (text, scope) in enumerate(zip(texts, scopes, strict=True)):
        key = (scope, said_key(text))
        if key in first_with_key:
            found.append((first_with_key[key], j))
            continue
        first_with_key[key] = j
        found += [
            (i, j)
            for i in _near(gists, index, j, scope, rarity)
            if jaccard(gists[i], gists[j]) >= alike
        ]
        for word in gists[j]:
            index[scope, word].append(j)
    return found


def _near(gists, index, j, scope, rarity) -> list[int]:
    """Earlier positions of the scope that share one of the rarest stems of this one."""
    # With a Jaccard of at least .7 two sets differ in less than half of their words,
    # so one of the rarer half is always shared.
    rare = sorted(gists[j], key=lambda word: (rarity[word], word))
    rare = rare[: len(rare) // 2 + 1]
    return sorted({i for word in rare for i in index[scope, word][-COMMON_STEM:]})


# Vectors as near as this say the same: design, "duplicates".
NEAR_THRESHOLD = 0.92


# Rows compared at once: a thousand by ten thousand are forty megabytes.
ROWS_PER_BLOCK = 1000


def duplicate_groups(space: Space, *, since: datetime | None) -> list[list[Fact]]:
    """Active facts that may be one, where at least one of them is newer than `since`."""
    rows = _fresh_rows(space, since)
    scopes = [(fact.chat_id, fact.subject.casefold(), fact.kind) for fact in rows]
    texts = [fact.text for fact in rows]
    candidates = {*pairs(texts, scopes), *_near_pairs(rows, scopes)}
    alike = [
        (i, j)
        for i, j in sorted(candidates)
        if not differ(rows[i].text, rows[j].text, subject=rows[i].subject)
    ]
    found = ([rows[i] for i in group] for group in connected_groups(len(rows), alike))
    return _whole([some for some in map(_all_alike, found) if len(some) > 1])


def _whole(groups: list[list[Fact]]) -> list[list[Fact]]:
    """The same facts with all their fields: many are compared and few are alike."""
    rows = Fact.objects.in_bulk([fact.pk for some in groups for fact in some]) if groups else {}
    found = ([rows[fact.pk] for fact in some if fact.pk in rows] for some in groups)
    return [some for some in found if len(some) > 1]


def _fresh_rows(space: Space, since: datetime | None) -> list[Fact]:
    live = Fact.objects.filter(space=space, status=Fact.Status.ACTIVE)
    if since:
        fresh = live.filter(created_at__gt=since)
        live = live.filter(subject__in=fresh.values("subject"))
    return list(live.order_by("pk").only("space", "chat", "subject", "kind", "text"))


def _all_alike(group: list[Fact]) -> list[Fact]:
    """Without those that are only alike to one that is alike: they may differ from the first."""
    first, *rest = group
    alike = [fact for fact in rest if not differ(first.text, fact.text)]
    return [first, *alike]


def _near_pairs(rows: Sequence[Fact], scopes: Sequence[tuple]) -> Iterator[tuple[int, int]]:
    vectors = _vectors(rows)
    by_scope: dict[tuple, list[int]] = defaultdict(list)
    for i, fact in enumerate(rows):
        if fact.pk in vectors:
            by_scope[scopes[i]].append(i)
    for places in by_scope.values():
        if len(places) > 1:
            yield from near_pairs(places, np.stack([vectors[rows[i].pk] for i in places]))


def near_pairs(places: Sequence[int], matrix: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs of places whose vectors (of length one) point nearly the same way."""
    for start in range(0, len(places), ROWS_PER_BLOCK):
        likeness = matrix[start : start + ROWS_PER_BLOCK] @ matrix.T
        for a, b in zip(*np.nonzero(likeness >= NEAR_THRESHOLD), strict=True):
            if start + a < b:
                yield places[start + a], places[b]


def _vectors(rows: Iterable[Fact]) -> dict[int, np.ndarray]:
    """What recall compares by, where there is any; a fact without a vector is compared by words."""
    model = embeddings.active()
    if model is None:
        return {}
    found = Embedding.objects.filter(
        model=model.name, live=True, kind="fact", unit__owner_id__in=[fact.pk for fact in rows]
    ).values_list("unit__owner_id", "vector")
    return {pk: np.asarray(vector, dtype=np.float32) for pk, vector in found.iterator()}
