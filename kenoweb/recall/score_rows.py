"""The rows of a recall: each memory with its score, as the lab and the receipts show it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _

from kenoweb.ui import charts
from kenoweb.ui.formatting import one_line
from kenoweb.ui.responses import message_url, space_url
from memory.models import Recall, RecallItem, Space
from memory.retrieval import gate as recall_gate
from memory.retrieval import profiles
from memory.retrieval.profiles import Profile
from memory.retrieval.ranking import Part, Scored

# Eighteen features are too many for one bar: five groups, always in this order.
SCORE_GROUPS = {
    "meaning": (_("meaning"), ("answers", "semantic", "around", "topic")),
    "words": (_("words"), ("words", "rare", "alike", "lexical", "nearby", "episode")),
    "time": (_("time"), ("date", "when", "recency")),
    "sure": (_("sure"), ("confidence", "trust", "usage", "pin", "question", "crowd", "older")),
    "place": (_("place"), ("speaker", "channel")),
}
LANES = {
    "meaning": _("meaning"),
    "words": _("words"),
    "talk": _("beside one of these"),
    "recent": _("recent"),
    "pinned": _("pinned"),
    "date": _("date"),
    "hop": _("asked once more"),
    "list": _("a list of all that is known"),
}
CUT = {
    RecallItem.Cut.GATE: _("below the gate"),
    RecallItem.Cut.LIMIT: _("beyond the limit"),
    RecallItem.Cut.SAME: _("says the same as a better one"),
    RecallItem.Cut.BUDGET: _("no room in the budget"),
    RecallItem.Cut.SEEN: _("already in the prompt"),
}
KINDS = {
    "fact": _("Gate for facts"),
    "episode": _("Gate for episodes"),
    "message": _("Gate for messages"),
}
SECTIONS = [
    (_("talk"), ("history", "summary")),
    (_("facts"), ("facts", "chat_facts", "earlier")),
    (_("episodes and turns"), ("notes", "turns")),
    (_("note and context"), ("working", "context", "preferences")),
    (_("habits"), ("patterns", "relevance")),
]
STAGES = {
    "understand": _("understand"),
    "embed": _("embed"),
    "lanes": _("search"),
    "backfill": _("catch up"),
    "rank": _("rank"),
}
MAX_TEXT = 300


@dataclass
class Row:
    rank: int
    kind: str
    label: str
    text: str
    url: str
    score: float
    relevance: float
    parts: list[Part]
    lanes: list[str]
    cut: str = ""
    tokens: int = 0
    lang: str = ""
    # Its rank with the saved weights; None while nothing is compared.
    before: int | None = None
    mark: str = ""
    nearest: bool = False
    # The gate for its kind; 0 without one.
    gate: float = 0.0
    # The id of the fact, when it is one.
    fact: int | None = None

    def __post_init__(self):
        self.voices = scaled(self.parts, self.relevance)

    @property
    def groups(self) -> list[tuple[str, float]]:
        return score_groups(self.parts)

    @property
    def up(self) -> int:
        """How many places it rose; negative when it fell."""
        return self.before - self.rank if self.before else 0

    @property
    def down(self) -> int:
        return -self.up


def score_groups(parts: Iterable[Part]) -> list[tuple[str, float]]:
    parts = list(parts)
    return [
        (str(label), round(sum(part.points for part in parts if part.name in names), 6))
        for label, names in SCORE_GROUPS.values()
    ]


def scaled(parts: Iterable[Part], relevance: float) -> list[tuple[str, float]]:
    """Return the five groups on a scale from 0 to 1: together they are as long as the memory is
    relevant, each as long as its share of the score."""
    groups = score_groups(parts)
    whole = sum(points for _label, points in groups)
    whole = whole if whole > 0 else sum(max(0.0, points) for _label, points in groups)
    return [(label, points / whole * relevance if whole else 0.0) for label, points in groups]


def of_scored(scored: Scored, *, rank: int, space: Space) -> Row:
    unit = scored.unit
    return Row(
        rank=rank,
        kind=unit.kind,
        label=label(unit.kind, unit.owner_id, at=unit.at, who=_who(unit.said_by, unit.role)),
        text=one_line(unit.text)[:MAX_TEXT],
        url=page(space, unit.kind, unit.owner_id, chat=unit.chat_id),
        score=scored.score,
        relevance=scored.confidence,
        parts=scored.parts,
        lanes=_lanes(unit.lanes),
        cut=str(CUT.get(scored.cut, scored.cut)),
        tokens=scored.tokens,
    )


def of_item(item: RecallItem, *, space: Space, shape: type[Row] = Row) -> Any:
    """Return the row of a candidate of a receipt, with the receipt's numbers."""
    owner = getattr(item, item.kind, None)
    text = getattr(owner, "text", "") or getattr(owner, "body", "") or str(owner or "")
    at = getattr(owner, "sent_at", None) or getattr(owner, "started_at", None)
    who = _who(getattr(owner, "author", ""), getattr(owner, "role", ""))
    return shape(
        rank=item.rank,
        kind=item.kind,
        label=label(item.kind, owner.pk if owner else 0, at=at, who=who),
        text=one_line(text)[:MAX_TEXT] if owner else str(_("It was erased since.")),
        url=page(space, item.kind, owner.pk, chat=getattr(owner, "chat_id", 0)) if owner else "",
        score=item.score,
        relevance=item.confidence,
        parts=[Part(*part) for part in item.parts],
        lanes=_lanes(item.lanes),
        cut="" if item.injected else str(CUT.get(item.cut, _("left out"))),
        tokens=item.tokens,
        lang=getattr(owner, "language", ""),
        mark=item.get_mark_display(),
        fact=item.fact_id,
    )


def label(kind: str, pk: int, *, at: datetime | None = None, who: str = "") -> str:
    """Name a memory: Fact 412; Episode, 13 February; Ana, 13 February."""
    if kind == "fact" or not at:
        noun = {"fact": _("Fact"), "episode": _("Episode"), "pattern": _("Pattern")}
        return f"{noun.get(kind, _('Message'))} {pk or ''}".strip()
    day = date_format(localtime(at), "DATE_FORMAT")
    return f"{_('Episode') if kind == 'episode' else who or _('Message')}, {day}"


def page(space: Space, kind: str, pk: int, *, chat: int | None = None) -> str:
    """Return the URL of the memory itself; empty for a message of no chat."""
    if kind == "message":
        return message_url(space, pk, chat)
    return space_url(f"{kind}s:detail", space, pk=pk)


@dataclass(frozen=True)
class Gate:
    """How relevant a memory had to be in a recall; 0 when the profile has no gate or is gone."""

    profile: Profile | None = None
    strict: bool = False
    prompt: bool = False

    def of(self, kind: str) -> float:
        limits = self.profile.settings.get("gate", {}) if self.profile else {}
        if not limits.get("strict" if self.strict else "lenient"):
            return 0.0
        return float(recall_gate.line(limits, kind, strict=self.strict, prompt=self.prompt))

    @property
    def line(self) -> float:
        return self.of("fact")

    def context(self) -> dict:
        """Return the gate for facts, and its place on a scale of 300, for the template."""
        return {"gate": self.line, "gate_x": charts.n(300 * self.line)}

    def is_below(self, item: RecallItem) -> bool:
        """Tell whether it was given although it did not pass: pins and habits need not."""
        pinned = getattr(item.fact, "pinned", False) if item.kind == "fact" else False
        return item.kind != "pattern" and self.is_short(item.kind, item.confidence, pinned=pinned)

    def is_short(self, kind: str, relevance: float, *, pinned: bool) -> bool:
        return relevance < self.of(kind) and not pinned


def gates(gate: Gate, items: Iterable[RecallItem]) -> list[tuple[str, float]]:
    """Return (name, gate) of each kind of memory among the items."""
    kinds = {item.kind for item in items}
    return [(name, gate.of(kind)) for kind, name in KINDS.items() if kind in kinds]


def gate_of(receipt: Recall, space: Space) -> Gate:
    profile = profiles.get(space, f"{receipt.profile}@{receipt.profile_version}")
    profile = profile if profile.name == receipt.profile else None
    return Gate(profile, receipt.strict, bool(receipt.left_out.get("prompt")))


def chosen(rows: Sequence[Row], rank: int) -> Row | None:
    """Return the row to take apart: the one of this rank, else the best."""
    return next((row for row in rows if row.rank == rank), rows[0] if rows else None)


def sections(tokens: dict[str, int]) -> list[tuple[str, int]]:
    """Return what the memory of a prompt is made of, in tokens."""
    return [(str(name), sum(tokens.get(key, 0) for key in keys)) for name, keys in SECTIONS]


def times(ms: dict[str, float]) -> list[tuple[str, float]]:
    return [(str(label), ms[stage]) for stage, label in STAGES.items() if stage in ms]


def legend() -> list[tuple[str, str]]:
    return [(f"d{n}", str(name)) for n, (name, _names) in enumerate(SCORE_GROUPS.values(), 1)]


def _who(author: str, role: str) -> str:
    return author or ("Keno" if role == "assistant" else "")


def _lanes(names: Sequence[str]) -> list[str]:
    return [str(LANES.get(name, name)) for name in names]
