"""Store the vectors of units, and switch to another embedding model."""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from memory import jobs
from memory.models import Embedding, EmbeddingModel, Space, Unit
from memory.models.encryption import Unreadable, decrypt_lines
from memory.models.prepared import cursor_for
from memory.vectors import embed
from memory.vectors.embed import Embedder, EmbeddingFailed

log = logging.getLogger(__name__)

BATCH = 64
# How long a process may go on with the old model after another one was switched on.
CACHE_SECONDS = 10
MIN_INDEXED_DIMENSIONS = 16
_cache: dict[str, Any] = {}

READ = """
SELECT u.id, u.text_hash, coalesce(f.text, m.text, btrim(e.title || E'\\n' || e.body))
FROM memory_unit u
LEFT JOIN memory_fact f ON u.kind = 'fact' AND f.id = u.owner_id
LEFT JOIN memory_message m ON u.kind = 'message' AND m.id = u.owner_id
LEFT JOIN memory_episode e ON u.kind = 'episode' AND e.id = u.owner_id
WHERE u.live AND u.id = ANY(%s)
"""
# Messages and the facts that rest on them, but for those that a recall was faster to embed.
READ_NEW = READ.replace(
    "u.id = ANY(%s)",
    """NOT EXISTS (SELECT FROM memory_embedding v WHERE v.unit_id = u.id AND v.model = %s)
  AND (u.kind, u.owner_id) IN (
    SELECT 'message', unnest(%s::bigint[])
    UNION ALL SELECT 'fact', id FROM memory_fact WHERE message_id = ANY(%s))""",
)
# Joined by the hash: a text that changed while it was embedded does not get the old vector.
# In order: two workers that embed the same units would otherwise wait for each other.
PUT = """
INSERT INTO memory_embedding
  (unit_id, model, dims, kind, space_id, scope, live, text_hash, vector)
SELECT u.id, %s, %s, u.kind, u.space_id, u.scope, u.live, u.text_hash, made.vector::vector
FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS made (id, text_hash, vector)
JOIN memory_unit u ON u.id = made.id AND u.text_hash = made.text_hash
ORDER BY u.id
ON CONFLICT (unit_id, model) DO UPDATE
SET vector = excluded.vector, text_hash = excluded.text_hash
"""
BROKEN = """
SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relname = %s AND i.indrelid = 'memory_embedding'::regclass AND NOT i.indisvalid
"""


def active() -> Embedder | None:
    """Return the model that recall uses; None when embeddings are off."""
    if not embed.enabled():
        return None
    wanted, row = embed.current(), _active_row()
    if row is None or row.name == wanted.name:
        return wanted
    return embed.embedder(row.provider, row.model, row.dims)


def missing(model: str, *, space: Space | None = None) -> QuerySet:
    """Return the live units that this model has not embedded."""
    has = Embedding.objects.filter(unit=OuterRef("pk"), model=model)
    units = Unit.objects.filter(~Exists(has), live=True)
    return units.filter(space=space) if space else units


def put(unit_ids: list[int], *, by: Embedder | None = None) -> int:
    """Embed these units; return how many got a vector. A failure is logged, to be tried later."""
    embedder = by or active()
    return _put(embedder, READ, [unit_ids]) if embedder and unit_ids else 0


def put_new(messages: list[int]) -> int:
    """Embed these messages and the facts that rest on them; return how many got a vector."""
    embedder = active()
    return _put(embedder, READ_NEW, [embedder.name, messages, messages]) if embedder else 0


def _put(embedder: Embedder, sql: str, values: list) -> int:
    with cursor_for(sql) as cursor:
        cursor.execute(sql, values)
        rows = [(unit, digest, decrypt_lines(text)) for unit, digest, text in cursor.fetchall()]
    rows = [row for row in rows if not isinstance(row[2], Unreadable)]
    if not rows:
        return 0
    try:
        vectors = embed.embed([text for _, _, text in rows], by=embedder)
    except EmbeddingFailed as error:
        log.warning("embedding failed for %d units: %s", len(rows), error)
        return 0
    good = [
        (unit_id, text_hash, as_text(vector))
        for (unit_id, text_hash, _), values in zip(rows, vectors, strict=True)
        if (vector := embed.good_vector(values, dims=embedder.dims)) is not None
    ]
    if len(good) < len(rows):
        log.warning("%d of %d vectors were unusable", len(rows) - len(good), len(rows))
    return _store(embedder, good) if good else 0


def backfill(
    *,
    by: Embedder | None = None,
    space: Space | None = None,
    limit: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Embed what has no vector yet, each unit tried once; return how many got one."""
    embedder = by or active()
    if embedder is None:
        return 0
    stored = done = 0
    for ids in _batches(missing(embedder.name, space=space), limit):
        stored += put(ids, by=embedder)
        done += len(ids)
        progress(done)
    return stored


def index_name(model: str) -> str:
    digest = model.rpartition("@")[2]
    if "@" not in model:
        digest = hashlib.sha256(model.encode()).hexdigest()
    return f"embedding_hnsw_{digest[:8]}"


def build_index(embedder: Embedder) -> None:
    """Build the model's partial index, concurrently, beside those of other models.

    Very short vectors get none: they are compared one by one. Building one ends the embedded
    server of some arm64 machines, and no real model has so few dimensions.
    """
    if embedder.dims < MIN_INDEXED_DIMENSIONS:
        return
    index = index_name(embedder.name)
    with connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(%s), quote_literal(%s)", [index, embedder.name])
        name, model = cursor.fetchone()
        # An interrupted build leaves an invalid index.
        cursor.execute(BROKEN, [index])
        if cursor.fetchone():
            cursor.execute(f"DROP INDEX CONCURRENTLY {name}")
        cursor.execute(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON memory_embedding "
            f"USING hnsw ((vector::vector({embedder.dims:d})) vector_cosine_ops) "
            f"WHERE model = {model}"
        )


@transaction.atomic
def switch(embedder: Embedder) -> None:
    """Make this the model that recall uses; golden questions are asked with it."""
    was = EmbeddingModel.objects.filter(active=True).first()
    EmbeddingModel.objects.filter(active=True).update(active=False)
    EmbeddingModel.objects.update_or_create(
        name=embedder.name, defaults=_described(embedder) | {"active": True}
    )
    transaction.on_commit(_cache.clear)
    if was and was.name != embedder.name:
        for space in Space.objects.filter(archived_at=None):
            jobs.ask_golden(space.pk, "model")


def drop(model: str) -> int:
    """Delete another model's vectors and its index."""
    if (in_use := active()) and in_use.name == model:
        raise ValueError(f"{model} is in use.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(%s)", [index_name(model)])
        cursor.execute(f"DROP INDEX IF EXISTS {cursor.fetchone()[0]}")
    EmbeddingModel.objects.filter(name=model).delete()
    return Embedding.objects.filter(model=model)._raw_delete("default")


def as_text(vector) -> str:
    """Return a vector in the format of pgvector."""
    return "[" + ",".join(map("%.6g".__mod__, vector.tolist())) + "]"


def _store(embedder: Embedder, good: list[tuple[int, str, str]]) -> int:
    ids, hashes, vectors = zip(*good, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(PUT, [embedder.name, embedder.dims, list(ids), list(hashes), list(vectors)])
        stored = cursor.rowcount
    if _active_row() is None:
        EmbeddingModel.objects.get_or_create(active=True, defaults=_described(embedder))
        _cache.clear()
    return stored


def _active_row() -> EmbeddingModel | None:
    if _cache.get("until", 0) < time.monotonic():
        _cache["row"] = EmbeddingModel.objects.filter(active=True).first()
        _cache["until"] = time.monotonic() + (CACHE_SECONDS if _cache["row"] else 0)
    return _cache["row"]


def _described(embedder: Embedder) -> dict:
    return {name: getattr(embedder, name) for name in ("name", "provider", "model", "dims")}


def _batches(units: QuerySet, limit: int | None) -> Iterator[list[int]]:
    last, left = 0, limit if limit is not None else float("inf")
    pks = units.order_by("pk").values_list("pk", flat=True)
    while left > 0:
        ids = list(pks.filter(pk__gt=last)[: min(BATCH, left)])
        if not ids:
            return
        yield ids
        last, left = ids[-1], left - len(ids)
