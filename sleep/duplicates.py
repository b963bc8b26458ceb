"""Facts that say nearly the same, by their words or by their meaning, and never the contrary."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import numpy as np

from memory import embeddings
from memory.models import Embedding, Fact, Space
from sleep import clusters, conflicts

# Vectors as near as this say the same: design, "duplicates".
NEAR = 0.92
# Rows compared at once: a thousand by ten thousand are forty megabytes.
SLICE = 1000


def groups(space: Space, *, since: datetime | None) -> list[list[Fact]]:
    """Active facts that may be one, where at least one of them is newer than `since`."""
    rows = _fresh_company(space, since)
    scopes = [(fact.chat_id, fact.subject.casefold(), fact.kind) for fact in rows]
    texts = [fact.text for fact in rows]
    pairs = {*clusters.pairs(texts, scopes), *_near_pairs(rows, scopes)}
    alike = [pair for pair in sorted(pairs) if not _differ(rows, *pair)]
    found = ([rows[i] for i in group] for group in clusters.joined(len(rows), alike))
    return [some for some in map(_agreeing, found) if len(some) > 1]


def _fresh_company(space: Space, since: datetime | None) -> list[Fact]:
    live = Fact.objects.filter(space=space, status=Fact.Status.ACTIVE)
    if since:
        fresh = live.filter(created_at__gt=since)
        live = live.filter(subject__in=fresh.values("subject"))
    return list(live.order_by("pk"))


def _differ(rows: Sequence[Fact], i: int, j: int) -> str:
    return conflicts.differ(rows[i].text, rows[j].text, subject=rows[i].subject)


def _agreeing(some: list[Fact]) -> list[Fact]:
    """Without those that are only alike to one that is alike: they may differ from the first."""
    first, *rest = some
    alike = [one for one in rest if not conflicts.differ(first.text, one.text)]
    return [first, *alike]


def _near_pairs(rows: Sequence[Fact], scopes: Sequence[tuple]) -> Iterator[tuple[int, int]]:
    vectors = _vectors(rows)
    by_scope: dict[tuple, list[int]] = defaultdict(list)
    for i, fact in enumerate(rows):
        if fact.pk in vectors:
            by_scope[scopes[i]].append(i)
    for places in by_scope.values():
        if len(places) > 1:
            yield from near(places, np.stack([vectors[rows[i].pk] for i in places]))


def near(places: Sequence[int], matrix: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs of places whose vectors (of length one) point nearly the same way."""
    for start in range(0, len(places), SLICE):
        likeness = matrix[start : start + SLICE] @ matrix.T
        for a, b in zip(*np.nonzero(likeness >= NEAR), strict=True):
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
