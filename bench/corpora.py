"""The shared corpora of hostile and ordinary lines: read, halved, and sorted by licence."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

MEASURE_ONLY = ("LoCoMo", "deepset")  # licences that allow measuring, not learning from


@dataclass(frozen=True)
class Row:
    text: str
    kind: str
    lang: str
    source: str
    attack: bool

    @property
    def unseen(self) -> bool:
        """In the half that nothing was tuned on; decided by the text alone."""
        return hashlib.sha1(self.text.encode("utf-8", "surrogatepass")).digest()[0] % 2 == 1


def read(folder: Path, name: str) -> list[Row]:
    """Rows of one file; secrets stand reversed in it so that no scanner mistakes it for a leak."""
    rows = []
    for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines():
        raw = json.loads(line)
        text = raw["text"] if "text" in raw else raw["txet"][::-1]
        attack = name == "injection_attacks"
        rows.append(Row(text, raw["kind"], raw["lang"], raw["source"], attack))
    return rows


def trainable(folder: Path) -> list[Row]:
    rows = read(folder, "injection_attacks") + read(folder, "benign")
    return [r for r in rows if not r.unseen and not any(s in r.source for s in MEASURE_ONLY)]
