"""What recall costs as memory grows.

    python -m bench.scale --facts 10000 100000 --spaces 1 100 [--keep] [--encrypted] [--json OUT]

Facts are made up; their vectors are real ones, moved a little. Everything is in one Postgres with
the real tables and indexes. Times are those of the whole recall(), the question's embedding and
the receipt included, in a space chosen at random.
"""

import argparse
import gc
import itertools
import json
import os
import random
import time
from pathlib import Path

import django

from bench import made_up
from bench.filled import NOW, filled
from bench.fresh_database import encrypt, fresh_database
from bench.measures import percentile

# The first few questions warm caches and load the model.
WARM = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--spaces", type=int, nargs="+", default=[1, 100])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument(
        "--rounds", type=int, default=1, help="ask everything so often, count the fastest"
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave what was filled for the next run"
    )
    parser.add_argument(
        "--encrypted", action="store_true", help="measure again with every space encrypted"
    )
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
            rows.append(measure(facts, spaces, given))
            print(shown(rows[-1]), flush=True)
    print("\n" + growth(rows))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


def measure(facts: int, spaces: int, how: argparse.Namespace) -> dict:
    with fresh_database(f"keno_scale_{facts}_{spaces}", keep=how.keep):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from memory.retrieval import keywords
        from memory.vectors import store as embeddings

        embeddings._cache.clear()
        keywords._cache.clear()
        connection.close()
        connection.settings_dict |= _database()
        call_command("migrate", verbosity=0)
        row = {"name": f"{facts} facts, {spaces} spaces", "facts": facts, "spaces": spaces}
        held, built = filled(facts, spaces, seed=how.seed)
        asked = made_up.questions(how.questions, of=facts, seed=how.seed)
        row |= built | _recalls(held, asked, seed=how.seed, rounds=how.rounds)
        row |= _filtered(held, asked[:40], seed=how.seed)
        if how.encrypted:
            seconds = encrypt(held)
            hidden = _recalls(held, asked, seed=how.seed, rounds=how.rounds)
            row["encrypted"] = hidden | {"seconds": round(seconds, 1)}
        row["load"] = round(os.getloadavg()[0], 1)
        connection.close()
        return row


def _database() -> dict:
    from kenoweb.launcher import database

    return database.parse(os.environ["DATABASE_URL"])


def _recalls(held: list, asked: list[str], *, seed: int, rounds: int) -> dict:
    """Of several rounds each question's fastest: what others do on the machine is not ours."""
    rng = random.Random(seed)
    spaces = [rng.choice(held) for _ in asked]
    for space, question in list(zip(spaces, asked, strict=True))[:WARM]:
        _once(space, question)
    gc.freeze()  # as the worker and the web server do
    taken = [
        [_once(space, question) for space, question in zip(spaces, asked, strict=True)]
        for _ in range(rounds)
    ]
    best = [min(ways, key=lambda ms: ms["whole"]) for ways in zip(*taken, strict=True)]
    times, cpu = [ms["whole"] for ms in best], [ms["cpu"] for ms in best]
    return {
        "rounds": rounds,
        "p50_ms": percentile(times, 50),
        "p95_ms": percentile(times, 95),
        "cpu_p50_ms": percentile(cpu, 50),
        "cpu_p95_ms": percentile(cpu, 95),
        "stages_p50_ms": {
            stage: percentile([ms.get(stage, 0.0) for ms in best], 50) for stage in best[0]
        },
    }


def _once(space, question: str) -> dict[str, float]:
    from memory.retrieval.recall import recall
    from memory.vectors import embed

    embed.current()._alone.cache_clear()  # each question pays for its own vectors
    cpu, began = _cpu_ms(), time.perf_counter()
    result = recall(space, question, now=NOW)
    whole = (time.perf_counter() - began) * 1000
    if result.error:
        raise RuntimeError(result.error)
    ms = dict(result.ms)
    return ms | {"receipt": whole - ms.pop("total"), "whole": whole, "cpu": _cpu_ms() - cpu}


def _cpu_ms() -> float:
    """What this process and its Postgres backend have worked: on a machine that others use too,
    it says more than the clock. Without /proc it is this process alone."""
    from django.db import connection

    connection.ensure_connection()
    backend = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    theirs = int(backend.read_text().split()[0]) / 1e6 if backend.exists() else 0.0
    return time.process_time() * 1000 + theirs


def _filtered(held: list, asked: list[str], *, seed: int) -> dict:
    """The index under the filter of one space, against an exact search: time and agreement."""
    from memory.vectors import embed
    from memory.vectors import store as embeddings

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

    from memory.retrieval.lanes import PREPARE

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
        cursor.execute(f"{PREPARE};{sql}", values)
        cursor.nextset()
        found = {row[0] for row in cursor.fetchall()}
    return (time.perf_counter() - began) * 1000, found


def shown(row: dict) -> str:
    return (
        f"{row['name']:28s} recall p50 {row['p50_ms']:7.1f} p95 {row['p95_ms']:7.1f} ms "
        f"(CPU {row['cpu_p50_ms']:.1f}, {row['cpu_p95_ms']:.1f}) · "
        f"one space by index p95 {row['filtered_p95_ms']:6.1f} ms, agrees "
        f"{row['filtered_recall20']:.2f}, "
        f"exact p95 {row['exact_p95_ms']:6.1f} ms · {row['written_per_s']} written a second, "
        f"the rest built in {row['copy_s']:.0f} + "
        f"{row['vectors_s']:.0f} + {row['index_s']:.0f} s · {row['unit_mb']} + "
        f"{row['embedding_mb']} MB · load {row['load']}"
    ) + _encrypted(row.get("encrypted"))


def _encrypted(row: dict | None) -> str:
    if row is None:
        return ""
    return (
        f"\n{'encrypted':28s} recall p50 {row['p50_ms']:7.1f} p95 {row['p95_ms']:7.1f} ms "
        f"(CPU {row['cpu_p50_ms']:.1f}, {row['cpu_p95_ms']:.1f}) · in {row['seconds']} s"
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
