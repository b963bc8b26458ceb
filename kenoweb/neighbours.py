"""What is close to a fact in meaning or words, and what cannot be true beside it."""

from dataclasses import dataclass

from django.db import connection, transaction

from kenoweb.access import things
from memory import embeddings
from memory.models import Fact, Space
from memory.text import jaccard, stems
from sleep.conflicts import contradict

MOST = 5
# Facts about the same subject that are compared one by one.
LOOKED_AT = 200
# Below this two facts only share a topic.
CLOSE = 0.5
CLOSE_WORDS = 0.34
NEAREST = """
SELECT u.owner_id, 1 - (e.vector::vector({dims}) <=> mine.vector::vector({dims})) AS alike
FROM memory_unit me
JOIN memory_embedding mine ON mine.unit_id = me.id AND mine.model = {model}
JOIN memory_embedding e ON e.model = {model} AND e.space_id = me.space_id AND e.live
JOIN memory_unit u ON u.id = e.unit_id AND u.kind = 'fact' AND u.id <> me.id
WHERE me.kind = 'fact' AND me.owner_id = %(pk)s
ORDER BY e.vector::vector({dims}) <=> mine.vector::vector({dims})
LIMIT %(most)s
"""


@dataclass(frozen=True)
class Neighbour:
    fact: Fact
    alike: float
    why: str = ""


def of_fact(fact: Fact, *, space: Space) -> tuple[list[Neighbour], list[Neighbour]]:
    """Those close to it, and those that contradict it."""
    same = things(space, Fact).live().filter(subject=fact.subject).exclude(pk=fact.pk)
    about = list(same.newest()[:LOOKED_AT])
    scores = _by_meaning(fact)
    known = {other.pk: other for other in about}
    if missing := scores.keys() - known.keys():
        known |= {one.pk: one for one in things(space, Fact).live().filter(pk__in=missing)}
    if not scores:
        scores = _by_words(fact, about)
    against = [
        Neighbour(other, scores.get(pk, 0), why)
        for pk, other in known.items()
        if (why := contradict(fact.text, other.text, subject=fact.subject))
    ]
    opposed = {one.fact.pk for one in against}
    near = [
        Neighbour(known[pk], alike)
        for pk, alike in sorted(scores.items(), key=lambda one: -one[1])
        if pk in known and pk not in opposed
    ]
    return near[:MOST], against[:MOST]


def _by_meaning(fact: Fact) -> dict[int, float]:
    embedder = embeddings.active()
    if embedder is None:
        return {}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT quote_literal(%s)", [embedder.name])
        sql = NEAREST.format(model=cursor.fetchone()[0], dims=int(embedder.dims))
        # Most vectors of a space are messages: go on until enough facts are found.
        cursor.execute("SET LOCAL hnsw.iterative_scan = 'relaxed_order'")
        cursor.execute(sql, {"pk": fact.pk, "most": MOST * 2})
        return {pk: alike for pk, alike in cursor.fetchall() if alike >= CLOSE}


def _by_words(fact: Fact, others: list[Fact]) -> dict[int, float]:
    mine = stems(fact.text)
    scored = ((other.pk, jaccard(mine, stems(other.text))) for other in others)
    return {pk: alike for pk, alike in scored if alike >= CLOSE_WORDS}
