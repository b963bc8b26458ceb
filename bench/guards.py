"""Measure the guards: python -m bench.guards --corpora DIR [--chat DIR] [--json OUT].

--chat names a folder of ordinary chat (.tsv); only lines that were not trained on are counted.
Beside Keno's guard stands the guard of seed 004, in the same run. "keno unseen" counts only the
half of the lines that neither rules nor weights were made with.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import chat_lines, corpora, seed004
from bench.chat_lines import ChatLine
from bench.corpora import Row
from memory.guards import inspect as guards

CHAT_AND_FACTS = {"benign_chat", "benign_fact"}


@dataclass(frozen=True)
class Guard:
    name: str
    is_attack: Callable[[str], bool]
    is_secret: Callable[[str], bool]
    unseen_only: bool = False


GUARDS = [
    Guard("seed004", seed004.rejects, seed004.is_secret),
    Guard("keno", guards.is_suspicious, lambda text: bool(guards.redact(text)[1])),
    Guard("keno_unseen", guards.is_suspicious, lambda text: bool(guards.redact(text)[1]), True),
]


def rate(rows: Sequence[Row | ChatLine], hit: Callable[[str], bool]) -> float:
    return round(sum(hit(row.text) for row in rows) / len(rows), 4) if rows else 0.0


def measure(guard: Guard, folder: Path, chat: Path | None = None) -> dict:
    attacks, benign, secrets = (
        [row for row in corpora.read(folder, name) if row.unseen or not guard.unseen_only]
        for name in ("injection_attacks", "benign", "secrets")
    )
    return {
        "guard": guard.name,
        "attack_recall": rate(attacks, guard.is_attack),
        "attack_recall_es": rate([r for r in attacks if r.lang == "es"], guard.is_attack),
        "secret_recall": rate(secrets, guard.is_secret),
        "fpr_chat_facts": rate([r for r in benign if r.kind in CHAT_AND_FACTS], guard.is_attack),
        "fpr_hard_facts": rate(
            [r for r in benign if r.kind == "benign_hard_fact"], guard.is_attack
        ),
        "fpr_secrets": rate(benign, guard.is_secret),
        **false_alarms(guard, chat),
        "us_per_text": _microseconds(guard, attacks + benign + secrets),
    }


def false_alarms(guard: Guard, chat: Path | None) -> dict:
    """Return the share of ordinary chat that is flagged, by language."""
    lines = [line for line in chat_lines.read(chat) if line.unseen] if chat else []
    return {
        f"fpr_talk_{lang}": rate([line for line in lines if line.lang == lang], guard.is_attack)
        for lang in sorted({line.lang for line in lines})
    }


def _microseconds(guard: Guard, rows: list[Row]) -> int:
    """Processor time for both guards of one text, as a writer calls them."""
    started = time.process_time()
    for row in rows:
        guard.is_attack(row.text)
        guard.is_secret(row.text)
    return round((time.process_time() - started) / len(rows) * 1e6)


def by_group(guard: Guard, folder: Path) -> list[tuple[str, str, str, int, float]]:
    """(guard, kind, language, lines, share flagged) for every kind and language of the corpora."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for name in ("injection_attacks", "secrets", "benign"):
        for row in corpora.read(folder, name):
            if row.unseen or not guard.unseen_only:
                groups.setdefault((row.kind, row.lang), []).append(row)
    return [
        (guard.name, kind, lang, len(rows),
         rate(rows, guard.is_secret if kind.startswith("secret") else guard.is_attack))
        for (kind, lang), rows in sorted(groups.items())
    ]  # fmt: skip


def table(rows: list[dict]) -> str:
    heads = list(rows[0])
    cells = [[str(row[head]) for head in heads] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = [[*heads], *cells]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True, help="folder of the jsonl files")
    parser.add_argument("--chat", type=Path, help="folder with .tsv files of ordinary chat")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    options = parser.parse_args()
    results = [measure(guard, options.corpora, options.chat) for guard in GUARDS]
    for guard in GUARDS:
        for name, kind, lang, count, share in by_group(guard, options.corpora):
            print(f"{name:12} {kind:28} {lang:6} {count:4} lines  {share:7.1%} flagged")
    print("\n" + table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
