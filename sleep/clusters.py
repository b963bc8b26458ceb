"""Group texts that say the same, and find those that cannot both be true."""

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
    """Return why both cannot be true ("value", "negation" …), in any order; empty when they can."""
    verdicts = (compare(old, new, subject=subject) for old, new in ((a, b), (b, a)))
    return next((verdict.reason for verdict in verdicts if verdict.changes), "")


def differ(a: str, b: str, *, subject: str = "") -> str:
    """Return why two like sentences are not one ("number", "name" …); empty when they are.

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
    # "Ana Ruiz" and "Ana" are one person named twice.
    if not (left <= right or right <= left):
        return "name"
    left, right = _words(a), _words(b)
    is_opposite = any(are_opposite(x, y) for x in left - right for y in right - left)
    return "opposite" if is_opposite else ""


def buckets(text: str, subject: str = "") -> list[str]:
    """Return keys of which texts that could contradict each other share one."""
    frames = frames_of(text, subject=subject)
    return [f"{' '.join(sorted(terms(subject) | frame.holder))}|{frame.key}" for frame in frames]


_negated = lru_cache(maxsize=4096)(is_negative)


def _names(text: str) -> set[str]:
    inside = [word for word in _WORD.findall(text)[1:] if word[0].isupper()]
    return {canonical(fold(word)) or fold(word) for word in inside}


def _words(text: str) -> set[str]:
    return {canonical(word) or word for word in tokens(text)}


def _numbers(text: str) -> set[str]:
    return {number.strip(".,:/-") for number in _NUMBER.findall(text)}


def gist(text: str) -> frozenset[str]:
    """Return the stems that carry the meaning; all of them when nothing else is left."""
    folded = [fold(word) for word in words(text)]
    kept = [word for word in folded if word not in _STOPS] or folded
    return frozenset(stem(word, "en") for word in kept)


def group_same(
    texts: Sequence[str], scopes: Sequence[Hashable], *, alike: float = SAME_THRESHOLD
) -> list[list[int]]:
    """Group positions by meaning within a scope, in order of first appearance."""
    return connected_groups(len(texts), pairs(texts, scopes, alike=alike))


def connected_groups(count: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Group the positions 0..count-1: whatever a chain of pairs connects is one group."""
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
    """Return every pair (i < j) of one scope that says the same, by key or by Jaccard of stems."""
    gists = [gist(text) for text in texts]
    result: list[tuple[int, int]] = []
    first_with_key: dict[tuple, int] = {}
    index: dict[tuple, list[int]] = defaultdict(list)
    rarity = Counter(word for stems in gists for word in stems)
    for j, (text, scope) in enumerate(zip(texts, scopes, strict=True)):
        first = first_with_key.setdefault((scope, said_key(text)), j)
        if first != j:
            result.append((first, j))
            continue
        near = _near(gists, index, j, scope, rarity)
        result += [(i, j) for i in near if jaccard(gists[i], gists[j]) >= alike]
        for word in gists[j]:
            index[scope, word].append(j)
    return result


def _near(gists, index, j, scope, rarity) -> list[int]:
    """Return earlier positions of the scope that share one of the rarest stems of this one."""
    # With a Jaccard of at least .7 two sets differ in less than half of their words,
    # so one of the rarer half is always shared.
    rare = sorted(gists[j], key=lambda word: (rarity[word], word))
    rare = rare[: len(rare) // 2 + 1]
    return sorted({i for word in rare for i in index[scope, word][-COMMON_STEM:]})


# Vectors as near as this say the same.
NEAR_THRESHOLD = 0.92
# Rows compared at once: a thousand by ten thousand are forty megabytes.
ROWS_PER_BLOCK = 1000


def duplicate_groups(space: Space, *, since: datetime | None) -> list[list[Fact]]:
    """Group active facts that may be one; at least one of a group is newer than `since`."""
    rows = _fresh_rows(space, since)
    scopes = [(fact.chat_id, fact.subject.casefold(), fact.kind) for fact in rows]
    texts = [fact.text for fact in rows]
    candidates = {*pairs(texts, scopes), *_near_pairs(rows, scopes)}
    alike = [
        (i, j)
        for i, j in sorted(candidates)
        if not differ(rows[i].text, rows[j].text, subject=rows[i].subject)
    ]
    groups = [_all_alike([rows[i] for i in group]) for group in connected_groups(len(rows), alike)]
    groups = [group for group in groups if len(group) > 1]
    # Many are compared and few are alike: only those are loaded with all their fields.
    whole = Fact.objects.in_bulk([fact.pk for group in groups for fact in group]) if groups else {}
    groups = [[whole[fact.pk] for fact in group if fact.pk in whole] for group in groups]
    return [group for group in groups if len(group) > 1]


def _fresh_rows(space: Space, since: datetime | None) -> list[Fact]:
    live = Fact.objects.filter(space=space, status=Fact.Status.ACTIVE)
    if since:
        fresh = live.filter(created_at__gt=since)
        live = live.filter(subject__in=fresh.values("subject"))
    return list(live.order_by("pk").only("space", "chat", "subject", "kind", "text"))


def _all_alike(group: list[Fact]) -> list[Fact]:
    """Leave out those that differ from the first and are only like another one."""
    first, *rest = group
    return [first, *(fact for fact in rest if not differ(first.text, fact.text))]


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
    """Yield pairs of places whose vectors (of length one) point nearly the same way."""
    for start in range(0, len(places), ROWS_PER_BLOCK):
        likeness = matrix[start : start + ROWS_PER_BLOCK] @ matrix.T
        for a, b in zip(*np.nonzero(likeness >= NEAR_THRESHOLD), strict=True):
            if start + a < b:
                yield places[start + a], places[b]


def _vectors(rows: Iterable[Fact]) -> dict[int, np.ndarray]:
    """Load the vectors of the facts; a fact without one is compared by its words."""
    model = embeddings.active()
    if model is None:
        return {}
    vectors = Embedding.objects.filter(
        model=model.name, live=True, kind="fact", unit__owner_id__in=[fact.pk for fact in rows]
    ).values_list("unit__owner_id", "vector")
    return {pk: np.asarray(vector, dtype=np.float32) for pk, vector in vectors.iterator()}
