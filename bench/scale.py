"""What recall costs as memory grows.

    python -m bench.scale --facts 10000 100000 --spaces 1 100 [--minutes 30] [--json OUT]

Facts are made up; their vectors are real ones, moved a little. Everything is in one Postgres, with
the real triggers and indexes. Times are those of the whole recall(), the question's embedding and
the receipt included, in a space chosen at random.
"""

import argparse
import itertools
import json
import os
import random
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import django
import numpy as np
import psycopg

from bench import made_up
from bench.fresh_database import fresh_database
from bench.measures import percentile

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BATCH = 10_000
BASE = 1500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--spaces", type=int, nargs="+", default=[1, 100])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=60, help="begin no new size after this")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    began, rows = time.monotonic(), []
    for facts in given.facts:
        for spaces in given.spaces:
            if time.monotonic() - began > given.minutes * 60:
                print(f"No time left for {facts} facts in {spaces} spaces.")
                continue
            rows.append(measure(facts, spaces, questions=given.questions, seed=given.seed))
            print(shown(rows[-1]), flush=True)
    print("\n" + growth(rows))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


def measure(facts: int, spaces: int, *, questions: int, seed: int) -> dict:
    with fresh_database("keno_scale"):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from memory import embeddings
        from memory.retrieval import statistics

        embeddings._known.clear()
        statistics._known.clear()
        connection.close()
        connection.settings_dict |= _database()
        call_command("migrate", verbosity=0)
        row = {"name": f"{facts} facts, {spaces} spaces", "facts": facts, "spaces": spaces}
        held = _fill(facts, spaces, seed=seed, row=row)
        asked = made_up.questions(questions, of=facts, seed=seed)
        row |= _recalls(held, asked, seed=seed)
        row |= _filtered(held, asked[:40], seed=seed)
        row["load"] = round(os.getloadavg()[0], 1)
        connection.close()
        return row


def _database() -> dict:
    from kenoweb import database

    return database.parse(os.environ["DATABASE_URL"])


@contextmanager
def _timed(row: dict, name: str):
    began = time.perf_counter()
    yield
    row[name] = round(time.perf_counter() - began, 1)


def _fill(facts: int, spaces: int, *, seed: int, row: dict) -> list:
    """Rows by COPY through the real triggers, vectors by COPY, then the index."""
    from django.db import connection

    from memory import embeddings
    from memory.llm import embed
    from memory.models import Space

    made = [Space.objects.create(name=f"s{n}", slug=f"s{n}") for n in range(spaces)]
    texts = made_up.facts(facts, seed=seed)
    rng = random.Random(seed)
    with _timed(row, "copy_s"), connection.cursor() as cursor:
        columns = (
            "space_id, text, said_key, subject, language, created_at, updated_at, last_seen_at"
        )
        rest = {"quote": "", "kind": "fact", "category": "other", "status": "active"}
        for start in range(0, facts, BATCH):
            _copy(cursor, columns, rest, texts[start : start + BATCH], start, made, rng)
    embedder = embed.current()
    base = np.asarray(embed.embed([text for text, _, _ in texts[:BASE]]))
    with _timed(row, "vectors_s"):
        _vectors(embedder, base, seed=seed)
    with _timed(row, "index_s"):
        embeddings.build_index(embedder)
    embeddings.switch(embedder)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE memory_unit")
        cursor.execute("VACUUM ANALYZE memory_embedding")
        cursor.execute("VACUUM ANALYZE memory_fact")
        for name in ("memory_unit", "memory_embedding"):
            cursor.execute("SELECT pg_total_relation_size(%s)", [name])
            row[f"{name.removeprefix('memory_')}_mb"] = round(cursor.fetchone()[0] / 1e6)
    return made


def _copy(cursor, columns, rest, texts, start, spaces, rng) -> None:
    from memory.models import Fact

    defaults = {f.column: f for f in Fact._meta.concrete_fields if f.column not in {"id"}}
    names = [*columns.split(", "), *rest]
    more = [name for name in defaults if name not in names and not defaults[name].null]
    values = {name: _default(defaults[name]) for name in more}
    with cursor.copy(f"COPY memory_fact ({', '.join([*names, *more])}) FROM STDIN") as copy:
        for number, (text, subject, language) in enumerate(texts, start=start):
            space = spaces[rng.randrange(len(spaces))].pk
            first = (space, text, f"{number:064d}", subject, language, NOW, NOW, NOW)
            copy.write_row((*first, *rest.values(), *values.values()))


def _default(field):
    value = field.get_default()
    return json.dumps(value) if isinstance(value, list | dict) else value


def _vectors(embedder, base: np.ndarray, *, seed: int) -> None:
    """Without the HNSW index: building it afterwards is many times faster."""
    from django.db import connection
    from pgvector.psycopg import register_vector

    from memory import embeddings

    rng = np.random.default_rng(seed)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {embeddings.index_name(embedder.name)}")
        cursor.execute("SET maintenance_work_mem = '2GB'; SET max_parallel_maintenance_workers = 0")
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


def _recalls(held: list, asked: list[str], *, seed: int) -> dict:
    from memory.retrieval.recall import recall

    rng, times, stages = random.Random(seed), [], {}
    for number, question in enumerate(asked):
        result = recall(rng.choice(held), question, now=NOW)
        if result.error:
            raise RuntimeError(result.error)
        if number >= 10:  # the first few warm caches and load the model
            times.append(result.ms["total"])
            for stage, ms in result.ms.items():
                stages.setdefault(stage, []).append(ms)
    return {
        "p50_ms": percentile(times, 50),
        "p95_ms": percentile(times, 95),
        "stages_p50_ms": {stage: percentile(ms, 50) for stage, ms in stages.items()},
    }


def _filtered(held: list, asked: list[str], *, seed: int) -> dict:
    """The index under the filter of one space, against an exact search: time and agreement."""
    from memory import embeddings
    from memory.llm import embed

    rng, embedder, times, exact_times, agree = random.Random(seed), embeddings.active(), [], [], []
    for question in asked:
        space, vector = rng.choice(held), embeddings.as_text(embed.embed_query(question))
        ms, found = _nearest(embedder, space, vector, exact=False)
        exact_ms, right = _nearest(embedder, space, vector, exact=True)
        times.append(ms)
        exact_times.append(exact_ms)
        agree.append(len(found & right) / max(1, len(right)))
    return {
        "filtered_share": round(1 / len(held), 4),
        "filtered_p50_ms": percentile(times, 50),
        "filtered_p95_ms": percentile(times, 95),
        "filtered_recall20": round(sum(agree) / len(agree), 3),
        "exact_p50_ms": percentile(exact_times, 50),
        "exact_p95_ms": percentile(exact_times, 95),
    }


def _nearest(embedder, space, vector: str, *, exact: bool) -> tuple[float, set[int]]:
    from django.db import connection

    from memory.retrieval.lanes_sql import PREPARE

    dims = f"vector({embedder.dims})"
    where = f"WHERE space_id = %s AND model = '{embedder.name}' AND live"
    distance = f"vector::{dims} <=> %s::{dims}"
    if exact:
        sql = f"SELECT unit_id FROM (SELECT unit_id, {distance} AS d FROM memory_embedding {where} OFFSET 0) AS x ORDER BY d LIMIT 20"  # noqa: E501
        values = [vector, space.pk]
    else:
        sql = f"SELECT unit_id FROM memory_embedding {where} ORDER BY {distance} LIMIT 20"
        values = [space.pk, vector]
    began = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute(PREPARE + sql, values)
        cursor.nextset()
        found = {row[0] for row in cursor.fetchall()}
    return (time.perf_counter() - began) * 1000, found


def shown(row: dict) -> str:
    return (
        f"{row['name']:28s} recall p50 {row['p50_ms']:7.1f} p95 {row['p95_ms']:7.1f} ms · "
        f"one space by index p95 {row['filtered_p95_ms']:6.1f} ms, agrees "
        f"{row['filtered_recall20']:.2f}, "
        f"exact p95 {row['exact_p95_ms']:6.1f} ms · built in {row['copy_s']:.0f} + "
        f"{row['vectors_s']:.0f} + {row['index_s']:.0f} s · {row['unit_mb']} + "
        f"{row['embedding_mb']} MB · load {row['load']}"
    )


def growth(rows: list[dict]) -> str:
    """How much dearer a recall is for how much more memory."""
    lines = []
    for spaces in sorted({row["spaces"] for row in rows}):
        sized = sorted((r for r in rows if r["spaces"] == spaces), key=lambda row: row["facts"])
        for small, large in itertools.pairwise(sized):
            more = large["facts"] / small["facts"]
            dearer = large["p95_ms"] / small["p95_ms"]
            lines.append(
                f"{spaces} spaces: {small['facts']} -> {large['facts']} facts (x{more:.0f}): "
                f"p95 x{dearer:.1f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
