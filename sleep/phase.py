"""What a phase of the night is, and what it works with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory.history import changes as history
from memory.models import Episode, Fact, Space
from memory.models.prepared import insert
from sleep import proposals
from sleep.budgeted_model import BudgetedModel
from sleep.models import Night, NightChange, Proposal


@dataclass
class Outcome:
    """What one item of a phase did: counts to add up and lines for the log."""

    counts: dict[str, float] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def count(self, name: str, n: float = 1) -> None:
        self.counts[name] = round(self.counts.get(name, 0) + n, 6)


@dataclass(frozen=True)
class Phase:
    """A part of the night. `plan` lists items (JSON); `work` does one of them.

    `think` asks the model what `work` will need, before its transaction begins: so what was spent
    stays on record. It changes nothing.
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
    # Episodes in which this process found no error: no later phase needs to read them again.
    untroubled: set[int] = field(default_factory=set)

    @property
    def space(self) -> Space:
        return self.night.space

    def propose(self, kind: str, **fields: Any) -> Proposal | None:
        """Ask people to decide a change; `fields` are what proposals.propose() takes."""
        return proposals.propose(self.space, kind, night=self.night, **fields)

    def propose_learned(self, kind: str, text: str, *, episode: Episode, **fields: Any) -> bool:
        """Propose a lesson or a procedure of an episode; tell whether that is new."""
        after = {
            "text": text,
            "subject": "",
            "kind": kind,
            "category": Fact.Category.OTHER,
            "chat": episode.chat_id,
            "confidence": fields["confidence"],
            "quote": fields.pop("quote"),
            "language": episode.language,
        }
        return self.propose(Proposal.Kind.ADD, after=after, **fields) is not None

    @contextmanager
    def record_change(
        self, kind: str, text: str, *, evidence: list = (), mode: str = "heuristics"
    ) -> Iterator:
        """Make the changes inside one line of the night, which is undone as a whole."""
        with history.change(by="night", why=kind, night=self.night.pk) as context:
            yield context
        fields = {"kind": kind, "text": text, "evidence": list(evidence), "mode": mode}
        where = {"space": self.space, "night": self.night, "phase": self.phase}
        insert(NightChange(context=context.id, **where, **fields))


FUSE_SHARE = 0.25
FUSE_MINIMUM = 20


@dataclass(frozen=True)
class Fuse:
    """How much of one tier a phase may archive before it must propose."""

    tier: str
    total: int

    @property
    def limit(self) -> int:
        return max(FUSE_MINIMUM, int(self.total * FUSE_SHARE))

    def allows(self, count: int) -> bool:
        return count <= self.limit

    def state(self, count: int) -> dict:
        return {"tier": self.tier, "total": self.total, "limit": self.limit, "taken": count}
