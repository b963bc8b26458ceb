"""How fast the built-in model turns text into vectors.

    python -m bench.embedding [--texts 1000] [--json OUT]

Short made-up facts in English and Spanish, one by one as questions come and many at once
as a backfill does. No database.
"""

import argparse
import json
import time
from pathlib import Path

from bench import made_up
from bench.measures import percentile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    row = measure(given.texts, seed=given.seed)
    print(
        f"loaded in {row['load_s']:.2f} s · one by one {row['alone_per_s']:.0f} texts/s "
        f"(p50 {row['p50_ms']:.1f} ms, p95 {row['p95_ms']:.1f} ms; "
        f"{row['alone_per_cpu_s']:.0f} a second of CPU) · "
        f"many at once {row['batch_per_s']:.0f} texts/s"
    )
    if given.json:
        given.json.write_text(json.dumps([row], indent=1))


def measure(count: int, *, seed: int) -> dict:
    from memory.vectors.graphs import EmbeddedModel

    texts = [text for text, _, _ in made_up.facts(count, seed=seed)]
    model, began = EmbeddedModel(), time.perf_counter()
    model.embed(["the first one loads the model"])
    loaded = time.perf_counter() - began
    cpu = time.process_time()
    alone = [_timed(model, [text]) for text in texts]
    cpu = time.process_time() - cpu
    batch = _timed(model, texts)
    return {
        "name": "embedding",
        "texts": count,
        "load_s": round(loaded, 2),
        "alone_per_s": round(count / sum(alone), 1),
        # What it would be on a core of its own: says more than the clock where others work too.
        "alone_per_cpu_s": round(count / cpu, 1),
        "batch_per_s": round(count / batch, 1),
        "p50_ms": percentile([1000 * one for one in alone], 50),
        "p95_ms": percentile([1000 * one for one in alone], 95),
    }


def _timed(model, texts: list[str]) -> float:
    began = time.perf_counter()
    model.embed(texts)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
