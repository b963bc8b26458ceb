"""How much of what lasts is heard in chat messages, and how much of what is heard lasts.

    python -m bench.learn [--lines FILE ...] [--locomo FILE] [--json OUT]

Three systems: the cues alone, the listener alone, both with the checks as the product runs them.
What counts is what would be believed; offered_recall also counts what would be offered. A message
is right when it has a mark and something in it is believed. A span is right when it shares at
least half of the longer of the two with a mark. useful_share is the share of believed spans that
touch a mark. wrong_polarity counts believed spans that turn their mark around: a "not", "no longer"
or "used to" that only one of the two has. LoCoMo marks messages, not words: its rows have
"lines": "locomo" and no figures of spans. Milliseconds are processor time, message by message.
"""

import argparse
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.marked_lines import Line, Mark, locomo, read
from memory.extraction import hearing, listener
from memory.extraction.hearing import BELIEVE_FROM, OFFER_FROM
from memory.extraction.listener import KINDS, Span

DEV_LINES = [
    Path(__file__).parents[2] / "shared" / "listener" / f"dev_{language}.tsv"
    for language in ("en", "es")
]
SYSTEMS = ("cues", "listener", "both")
_NOT = re.compile(
    r"\b(?:not|no|never|nunca|jam[aá]s|tampoco|ni|sin|cannot|any ?more|used to|former(?:ly)?"
    r"|stopped|quit|gave up|dej[eéó](?: de)?|sol[ií]a\w*|antes|ex)\b|n['’]?t\b",
    re.I,
)


@dataclass(frozen=True)
class Result:
    """What a system heard in a line, and the seconds it took."""

    line: Line
    believed: Sequence[Span]
    offered: Sequence[Span]
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=Path, nargs="+", default=DEV_LINES, metavar="FILE")
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    files = [*options.lines, *([options.locomo] if options.locomo else [])]
    if missing := [str(file) for file in files if not file.exists()]:
        raise SystemExit(f"{', '.join(missing)}: no such file. Name marked lines with --lines.")
    rows = measure([line for file in options.lines for line in read(file)])
    if options.locomo:
        rows += [
            row | {"lines": "locomo", "span_precision": None, "span_recall": None}
            for row in measure(locomo(options.locomo))
            if row["language"] != "all"
        ]
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


def measure(lines: list[Line]) -> list[dict]:
    """Return a row for every system and language."""
    listener.hear([("The first one loads the model.", "")])
    results: dict[str, list[Result]] = {system: [] for system in SYSTEMS}
    for line in lines:
        for system, result in _listen(line).items():
            results[system].append(result)
    languages = [*sorted({line.language for line in lines}), "all"]
    return [
        row(system, language, [r for r in results[system] if language in (r.line.language, "all")])
        for language in languages
        for system in SYSTEMS
    ]


def _listen(line: Line) -> dict[str, Result]:
    """Return what every system hears in the line."""
    began = time.process_time()
    (spans,) = listener.hear([(line.message, line.previous)])
    listened = time.process_time()
    cued = hearing.hear_cues(line.message, language=line.language)
    searched = time.process_time()
    heard = hearing.combine(line.message, line.previous, cued=cued, spans=spans)
    done = time.process_time()
    return {
        "cues": Result(line, cued, cued, searched - listened),
        "listener": Result(line, *_by_score(spans), listened - began),
        "both": Result(line, *_by_score(heard), done - began),
    }


def _by_score(spans: Sequence[Span]) -> tuple[list[Span], list[Span]]:
    """Return what is believed, and what is believed or offered."""
    return [s for s in spans if s.score >= BELIEVE_FROM], [
        s for s in spans if s.score >= OFFER_FROM
    ]


def row(system: str, language: str, results: list[Result]) -> dict:
    marked = [r for r in results if r.line.is_marked]
    believed = [r for r in results if r.believed]
    right = sum(bool(r.believed) for r in marked)
    facts = sum(len(r.believed) for r in results)
    return {
        "system": system,
        "language": language,
        "lines": "marked",
        "messages": len(results),
        "message_precision": _share(right, len(believed)),
        "message_recall": _share(right, len(marked)),
        "offered_recall": _share(sum(bool(r.offered) for r in marked), len(marked)),
        **_spans(results),
        "useful_share": _share(sum(map(_useful, results)), facts),
        # Messages in which nothing is heard: no model is asked about them.
        "calls_saved": _share(sum(not r.offered for r in results), len(results)),
        "facts_per_100": round(100 * facts / len(results), 1) if results else 0.0,
        "wrong_polarity": sum(_is_turned(r.line, *pair) for r in results for pair in _pairs(r)),
        "ms": round(1000 * sum(r.seconds for r in results) / max(1, len(results)), 2),
        "by_kind": {kind: _spans(results, kind) for kind in KINDS},
    }


def _spans(results: list[Result], kind: str = "") -> dict:
    """Return precision and recall of spans; of one kind, those heard as it and marked as it."""
    heard = [(r, span) for r in results for span in r.believed if kind in ("", span.kind)]
    marks = [(r, mark) for r in results for mark in r.line.marks if kind in ("", mark.kind)]
    right = sum(any(_matches(span, mark) for mark in r.line.marks) for r, span in heard)
    got = sum(any(_matches(span, mark) for span in r.believed) for r, mark in marks)
    shares = {"span_precision": _share(right, len(heard)), "span_recall": _share(got, len(marks))}
    if not kind:
        return shares
    same = sum(
        any(_matches(span, mark) and span.kind == kind for span in r.believed) for r, mark in marks
    )
    return {"marks": len(marks), **shares, "kind_right": _share(same, got)}


def _useful(result: Result) -> int:
    """Return how many believed spans touch a mark; of a turn without marked words all or none."""
    if not result.line.marks:
        return len(result.believed) if result.line.is_marked else 0
    return sum(any(_shared(s, m) > 0 for m in result.line.marks) for s in result.believed)


def _pairs(result: Result) -> list[tuple[Span, Mark]]:
    return [(s, m) for s in result.believed for m in result.line.marks if _matches(s, m)]


def _matches(span: Span, mark: Mark) -> bool:
    return _shared(span, mark) >= max(span.end - span.start, mark.end - mark.start) / 2


def _shared(span: Span, mark: Mark) -> int:
    return min(span.end, mark.end) - max(span.start, mark.start)


def _is_turned(line: Line, span: Span, mark: Mark) -> bool:
    heard, meant = line.message[span.start : span.end], line.message[mark.start : mark.end]
    return bool(_NOT.search(heard)) != bool(_NOT.search(meant))


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def table(rows: list[dict]) -> str:
    heads = [head for head in rows[0] if head != "by_kind"]
    cells = [[str(row[head]) for head in heads] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in (heads, *cells)
    )


if __name__ == "__main__":
    main()
