"""What an import did or would do, line by line: nothing happens that is not in here."""

from collections import Counter
from dataclasses import asdict, dataclass, field

from memory import text
from memory.transfer import reasons

SHOWN = 120


class Verdict:
    TAKEN = "taken"
    # Taken, but set aside until a person has looked at it.
    QUARANTINED = "quarantined"
    KNOWN = "known"
    SKIPPED = "skipped"

    ALL = (TAKEN, QUARANTINED, KNOWN, SKIPPED)


@dataclass(frozen=True)
class Line:
    where: str
    kind: str
    verdict: str
    text: str = ""
    reason: str = ""
    why: str = ""
    count: int = 1


@dataclass
class Report:
    """Every line of an import with what became of it. `change` takes the import back."""

    format: str
    source: str
    space: str
    dry: bool = True
    lines: list[Line] = field(default_factory=list)
    change: str = ""

    def add(
        self, where: str, kind: str, verdict: str, *, text: str = "", reason: str = "", **more
    ) -> None:
        why = more.pop("why", "") or (reasons.sentence(reason) if reason else "")
        self.lines.append(Line(where, kind, verdict, _shown(text), reason, why, **more))

    def sort(self, first: int) -> None:
        """Put the lines from the first on into the order in which they stand in their file."""
        self.lines[first:] = sorted(self.lines[first:], key=lambda line: _place(line.where))

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """{kind: {verdict: how many}}"""
        found: dict[str, Counter] = {}
        for line in self.lines:
            found.setdefault(line.kind, Counter())[line.verdict] += line.count
        return {kind: dict(found[kind]) for kind in sorted(found)}

    def total(self, verdict: str) -> int:
        return sum(line.count for line in self.lines if line.verdict == verdict)

    @property
    def reasons(self) -> dict[str, int]:
        """{why: how many} of what was not taken, the most frequent first."""
        found: Counter = Counter()
        for line in self.lines:
            if line.verdict in (Verdict.SKIPPED, Verdict.KNOWN):
                found[line.why] += line.count
        return dict(found.most_common())

    def as_dict(self) -> dict:
        return {
            "format": self.format,
            "source": self.source,
            "space": self.space,
            "dry": self.dry,
            "change": self.change,
            "totals": {verdict: self.total(verdict) for verdict in Verdict.ALL},
            "counts": self.counts,
            "reasons": self.reasons,
            "lines": [asdict(line) for line in self.lines],
        }


def _place(where: str) -> tuple[str, int]:
    path, _colon, line = where.rpartition(":")
    return (path, int(line)) if line.isdigit() else (where, 0)


def _shown(said: str) -> str:
    return text.short(text.clean(said[: 8 * SHOWN]), SHOWN)
