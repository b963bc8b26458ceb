"""What is near in meaning, by the vectors that recall compares: for people who look around."""

import logging

from django.db import connection, transaction

from memory.models import Space
from memory.vectors import embed
from memory.vectors import store as embeddings

log = logging.getLogger(__name__)

# Below this two texts only share a topic.
CLOSE = 0.5
# A question is shorter than what answers it, and so less alike.
ANSWERS = 0.4
# An index scan that runs dry under the filters goes on, but not for ever.
PREPARE = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.max_scan_tuples', '20000', true), quote_literal(%s)
"""
NEAREST = """
SELECT u.owner_id, 1 - (e.vector::vector({dims}) <=> %(mine)s::vector({dims})) AS alike
FROM memory_embedding e JOIN memory_unit u ON u.id = e.unit_id
WHERE e.model = {model} AND e.space_id = %(space)s AND e.kind = %(kind)s AND e.live
ORDER BY e.vector::vector({dims}) <=> %(mine)s::vector({dims}) LIMIT %(most)s
"""
MINE = """
SELECT e.vector::text FROM memory_unit u
JOIN memory_embedding e ON e.unit_id = u.id AND e.model = %s
WHERE u.kind = %s AND u.owner_id = %s
"""


def near_words(space: Space, kind: str, said: str, *, most: int) -> dict[int, float]:
    """Ids of what means about the same as these words, and how much alike; nothing when off."""
    embedder = embeddings.active()
    if embedder is None:
        return {}
    try:
        mine = embeddings.as_text(embed.embed_query(said, by=embedder))
    except embed.EmbeddingFailed as error:
        log.warning("looking by meaning failed: %s", error)
        return {}
    return _nearest(embedder, space, kind, mine, most=most, at_least=ANSWERS)


def near_row(space: Space, kind: str, pk: int, *, most: int) -> dict[int, float]:
    """Ids of what means about the same as this row; nothing while it has no vector."""
    embedder = embeddings.active()
    if embedder is None:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(MINE, [embedder.name, kind, pk])
        found = cursor.fetchone()
    if found is None:
        return {}
    near = _nearest(embedder, space, kind, found[0], most=most + 1, at_least=CLOSE)
    return {other: alike for other, alike in near.items() if other != pk}


def _nearest(embedder, space: Space, kind: str, mine: str, *, most: int, at_least: float) -> dict:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PREPARE, [embedder.name])
        sql = NEAREST.format(model=cursor.fetchone()[2], dims=int(embedder.dims))
        cursor.execute(sql, {"mine": mine, "space": space.pk, "kind": kind, "most": most})
        return {pk: alike for pk, alike in cursor.fetchall() if alike >= at_least}
