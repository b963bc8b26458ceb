"""What a phase of the night is, and what it works with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory.history import changes as history
from memory.models import Space
from memory.models.prepared import insert
from sleep.budgeted_model import BudgetedModel
from sleep.models import Night, NightChange


@dataclass
class Outcome:
    """What one item of a phase did: counts to add up and lines for the log."""

    counts: dict[str, float] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def count(self, name: str, n: float = 1) -> None:
        self.counts[name] = round(self.counts.get(name, 0) + n, 6)

    def say(self, line: str) -> None:
        self.lines.append(line)


@dataclass(frozen=True)
class Phase:
    """A part of the night. `plan` lists items (JSON); `work` does one of them.

    `think` asks the model what `work` will want to know: before its transaction, so that what was
    spent stays on record. It changes nothing.
    """

    name: str
    plan: Callable[[Night, datetime], list]
    work: Callable[["PhaseContext", Any], Outcome]
    think: Callable[["PhaseContext", Any], None] | None = None


@dataclass(frozen=True)
class PhaseContext:
    """What a phase works with. `now` is when the night began: a resumed night thinks the same."""

    night: Night
    phase: str
    now: datetime
    # Asks a model; None when the night runs on heuristics alone.
    complete: BudgetedModel | None = None

    @property
    def space(self) -> Space:
        return self.night.space

    @contextmanager
    def record_change(
        self, kind: str, text: str, *, evidence: list = (), mode: str = "heuristics"
    ) -> Iterator:
        """Changes made inside are one line of the night and are undone together."""
        with history.change(by="night", why=kind, night=self.night.pk) as context:
            yield context
        line = NightChange(
            space=self.space,
            night=self.night,
            phase=self.phase,
            kind=kind,
            text=text,
            context=context.id,
            evidence=list(evidence),
            mode=mode,
        )
        insert(line)


FUSE_SHARE = 0.25
FUSE_MINIMUM = 20


@dataclass(frozen=True)
class Fuse:
    """How much of one tier a phase may archive before it must propose."""

    tier: str
    total: int
    share: float = FUSE_SHARE
    at_least: int = FUSE_MINIMUM

    @property
    def limit(self) -> int:
        return max(self.at_least, int(self.total * self.share))

    def allows(self, count: int) -> bool:
        return count <= self.limit

    def state(self, count: int) -> dict:
        """What the night's page shows."""
        return {"tier": self.tier, "total": self.total, "limit": self.limit, "taken": count}
