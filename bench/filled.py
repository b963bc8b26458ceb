"""Many made-up facts in a database, with the rows, vectors and indexes that real ones have."""

import itertools
import json
import os
import random
import time
from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np
import psycopg

from bench import made_up

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BATCH = 10_000
BASE = 1500
# Facts that take the way of every fact; a million of them would take an hour.
WRITTEN = 2000
# What the triggers write for a fact, for all that have none yet.
UNITS = """
INSERT INTO memory_unit (kind, owner_id, space_id, chat_id, scope, episode_id, speaker, at, until,
  pinned, live, words, text_hash)
SELECT 'fact', f.id, f.space_id, NULL, -2 * f.space_id, NULL, btrim(keno_fold(f.subject)),
  f.created_at, f.created_at, f.pinned, true,
  keno_words(f.text || ' ' || f.quote || ' ' || f.subject, f.language), md5(f.text)
FROM memory_fact f
WHERE NOT EXISTS (SELECT FROM memory_unit u WHERE u.kind = 'fact' AND u.owner_id = f.id)
ORDER BY f.id
"""
WORD_INDEX = "SELECT indexdef FROM pg_indexes WHERE indexname = 'unit_words'"


@contextmanager
def _timed(row: dict, name: str):
    began = time.perf_counter()
    yield
    row[name] = round(time.perf_counter() - began, 1)


def filled(facts: int, spaces: int, *, seed: int) -> tuple[list, dict]:
    """The spaces and what building them took; a database that is kept says it of itself."""
    from django.db import connection

    from memory.models import Space

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database"
            " WHERE datname = current_database()"
        )
        if said := cursor.fetchone()[0]:
            return list(Space.objects.order_by("pk")), json.loads(said)
    row: dict = {}
    held = fill(facts, spaces, seed=seed, row=row)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format('COMMENT ON DATABASE %%I IS %%L', current_database(), %s)",
            [json.dumps(row)],
        )
        cursor.execute(cursor.fetchone()[0])
    return held, row


def fill(facts: int, spaces: int, *, seed: int, row: dict) -> list:
    """Some facts through the real triggers, the rest in bulk with the same rows, then vectors."""
    from django.db import connection

    from memory.models import Space
    from memory.vectors import embed
    from memory.vectors import store as embeddings

    made = [Space.objects.create(name=f"s{n}", slug=f"s{n}") for n in range(spaces)]
    texts, rng = enumerate(made_up.facts(facts, seed=seed)), random.Random(seed)
    with _timed(row, "write_s"):
        _copy(list(itertools.islice(texts, WRITTEN)), made, rng)
    row["written_per_s"] = round(min(facts, WRITTEN) / max(row["write_s"], 0.01))
    with _timed(row, "copy_s"), _in_bulk():
        while some := list(itertools.islice(texts, BATCH)):
            _copy(some, made, rng)
    embedder = embed.current()
    base = np.asarray(embed.embed([text for text, _, _ in made_up.facts(BASE, seed=seed)]))
    with _timed(row, "vectors_s"):
        _vectors(embedder, base, seed=seed)
    with _timed(row, "index_s"):
        embeddings.build_index(embedder)
    embeddings.switch(embedder)
    with connection.cursor() as cursor:
        for name in ("memory_unit", "memory_embedding", "memory_fact"):
            cursor.execute(f"VACUUM ANALYZE {name}")
        for name in ("memory_unit", "memory_embedding"):
            cursor.execute("SELECT pg_total_relation_size(%s)", [name])
            row[f"{name.removeprefix('memory_')}_mb"] = round(cursor.fetchone()[0] / 1e6)
    return made


@contextmanager
def _in_bulk():
    """Without triggers: the rows that they would write are written at once, indexes last."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memory_fact DISABLE TRIGGER USER")
        yield
        cursor.execute("ALTER TABLE memory_fact ENABLE TRIGGER USER")
        cursor.execute(WORD_INDEX)
        (word_index,) = cursor.fetchone()
        cursor.execute("SET maintenance_work_mem = '1GB'")
        cursor.execute("DROP INDEX unit_words")
        cursor.execute(UNITS)
        cursor.execute(word_index)


def _copy(texts: list[tuple[int, tuple]], spaces: list, rng: random.Random) -> None:
    from django.db import connection

    from memory.models import Fact

    names = "space_id text said_key subject language created_at updated_at last_seen_at".split()
    rest = {"quote": "", "kind": "fact", "category": "other", "status": "active"}
    known = {f.column: f for f in Fact._meta.concrete_fields if f.column != "id" and not f.null}
    rest |= {name: _default(f) for name, f in known.items() if name not in {*names, *rest}}
    into = f"COPY memory_fact ({', '.join([*names, *rest])}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(into) as copy:
        for number, (text, subject, language) in texts:
            space = spaces[rng.randrange(len(spaces))].pk
            first = (space, text, f"{number:064d}", subject, language, NOW, NOW, NOW)
            copy.write_row((*first, *rest.values()))


def _default(field):
    value = field.get_default()
    return json.dumps(value) if field.get_internal_type() == "JSONField" else value


def _vectors(embedder, base: np.ndarray, *, seed: int) -> None:
    """Without the HNSW index: building it afterwards is many times faster."""
    from django.db import connection
    from pgvector.psycopg import register_vector

    from memory.vectors import store as embeddings

    rng = np.random.default_rng(seed)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {embeddings.index_name(embedder.name)}")
        cursor.execute("SET maintenance_work_mem = '3GB'; SET max_parallel_maintenance_workers = 0")
    with psycopg.connect(os.environ["DATABASE_URL"]) as own:
        register_vector(own)
        units = own.execute("SELECT id, space_id, scope, text_hash FROM memory_unit").fetchall()
        for start in range(0, len(units), BATCH):
            some = units[start : start + BATCH]
            made = made_up.vectors(len(some), base, rng=rng)
            _copy_vectors(own, embedder, zip(some, made, strict=True))


def _copy_vectors(own, embedder, rows) -> None:
    columns = "unit_id, space_id, scope, text_hash, model, dims, kind, live, vector"
    into = f"COPY memory_embedding ({columns}) FROM STDIN WITH (FORMAT BINARY)"
    with own.cursor() as cursor, cursor.copy(into) as copy:
        copy.set_types("int8 int8 int8 varchar varchar int2 varchar bool vector".split())
        for unit, vector in rows:
            copy.write_row((*unit, embedder.name, embedder.dims, "fact", True, vector))
