"""How good a list of found memories is, and how the numbers are shown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.questions import CATEGORIES, Question

AT = (1, 5, 10, 20)
DEEPEST = max(AT)
NAMES = ("r1", "r5", "r10", "r20", "mrr", "ndcg")


@dataclass
class Tally:
    """What one retriever did, question by question."""

    name: str
    rows: list[dict] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)

    def add(self, question: Question, found: Sequence[str], ms: float) -> None:
        self.rows.append(judge(question, found) | {"category": question.category})
        self.ms.append(ms)

    def row(self) -> dict:
        """Quality in percent, time in milliseconds."""
        made = {"name": self.name} | _means(self.rows)
        made |= {"p50_ms": percentile(self.ms, 50), "p95_ms": percentile(self.ms, 95)}
        made["questions"] = len(self.rows)
        kinds = sorted({row["category"] for row in self.rows} - {0})
        made["by_category"] = {
            CATEGORIES[kind]: _means([row for row in self.rows if row["category"] == kind])
            for kind in kinds
        }
        return made


def judge(question: Question, found: Sequence[str]) -> dict[str, float]:
    hits = [float(one in question.evidence) for one in found[:DEEPEST]]
    wanted = len(question.evidence)
    gain = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits[:10]))
    best = sum(1 / math.log2(place + 2) for place in range(min(10, wanted)))
    first = next((place for place, hit in enumerate(hits, start=1) if hit), 0)
    return {f"r{k}": sum(hits[:k]) / wanted for k in AT} | {
        "mrr": 1 / first if first else 0.0,
        "ndcg": gain / best,
    }


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    if not ordered:
        return 0.0
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))], 2)


def table(rows: list[dict]) -> str:
    head = f"{'':34s}" + "".join(f"{name:>8s}" for name in (*NAMES, "p50 ms", "p95 ms"))
    lines = [head]
    for row in rows:
        values = [row.get(name) for name in (*NAMES, "p50_ms", "p95_ms")]
        shown = "".join(f"{value:8.1f}" if value is not None else f"{'-':>8s}" for value in values)
        lines.append(f"{row['name'][:34]:34s}{shown}")
    return "\n".join(lines)


def _means(rows: list[dict]) -> dict[str, float]:
    return {
        name: round(100 * sum(row[name] for row in rows) / len(rows), 2) if rows else 0.0
        for name in NAMES
    }
