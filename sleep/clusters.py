"""Groups of claims that say the same. Pure: texts in, groups of positions out."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

from memory.text import STOP_WORDS, fold, said_key, stem, words

ALIKE = 0.7
# A stem shared by more claims than this says nothing about sameness, and comparing them all costs.
COMMON = 200
_STOPS = {fold(word) for some in STOP_WORDS.values() for word in some}


def gist(text: str, language: str = "") -> frozenset[str]:
    """The stems that carry the meaning; all of them when nothing else is left."""
    said = [fold(word) for word in words(text)]
    kept = [word for word in said if word not in _STOPS] or said
    return frozenset(stem(word, language or "en") for word in kept)


def same(
    texts: Sequence[str], scopes: Sequence[Hashable], *, alike: float = ALIKE
) -> list[list[int]]:
    """Positions grouped by meaning within a scope, in order of first appearance."""
    return joined(len(texts), pairs(texts, scopes, alike=alike))


def joined(count: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
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
    texts: Sequence[str], scopes: Sequence[Hashable], *, alike: float = ALIKE
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
            if _alike(gists[i], gists[j], alike)
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
    return sorted({i for word in rare for i in index[scope, word][-COMMON:]})


def _alike(a: frozenset[str], b: frozenset[str], alike: float) -> bool:
    return bool(a | b) and len(a & b) / len(a | b) >= alike
