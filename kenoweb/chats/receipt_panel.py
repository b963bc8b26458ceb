"""The receipt of one reply: what was recalled for it and why, what was cut, what it cost."""

from collections import Counter
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.recall import score_rows
from kenoweb.ui import charts
from kenoweb.ui.formatting import share
from kenoweb.ui.responses import space_url
from memory.chats import service as chats
from memory.chats import summary
from memory.models import LlmCall, Message, Recall, RecallItem, SelfCheck, Space
from memory.retrieval import receipts
from memory.text.normalise import short

ICONS = {"fact": "fact", "episode": "episode", "message": "chat", "pattern": "pattern"}
SIGNALS = {
    "response_too_short": gettext_lazy("very short"),
    "response_shorter_than_expected": gettext_lazy("short for such a question"),
    "excessive_hedging": gettext_lazy("hedges a lot"),
    "mild_hedging": gettext_lazy("hedges a little"),
    "high_repetition": gettext_lazy("repeats the question"),
    "no_memory_context": gettext_lazy("nothing was recalled"),
    "forbidden_phrase": gettext_lazy("says what a rule forbids"),
    "contradicts_memory": gettext_lazy("says otherwise than a memory it was given"),
}
SHOWN_CUT = 6
LENGTH = 240
MINI = 96


@dataclass
class Item(score_rows.Row):
    """One memory that was weighed, as the panel draws it."""

    @property
    def icon(self) -> str:
        return ICONS.get(self.kind, "fact")

    @property
    def bar(self) -> list[charts.Box]:
        return charts.score(self.voices, width=MINI)

    @property
    def said(self) -> str:
        return ", ".join(f"{name} {share(points)}" for name, points in self.voices if points)


@dataclass(frozen=True)
class Panel:
    reply: Message
    receipt: Recall | None
    injected: list[Item] = field(default_factory=list)
    cut: list[Item] = field(default_factory=list)
    # ("53 more", "Not relevant enough"): what was weighed and is not listed.
    rest: list[tuple[int, str]] = field(default_factory=list)
    # What was said just before, and so in the prompt without being recalled.
    window: list[Message] = field(default_factory=list)
    # What was said before that, in short, as it stood in the prompt.
    summary: str = ""
    sections: list[tuple[str, int]] = field(default_factory=list)
    tokens: int = 0
    budget: int = 0
    url: str = ""
    lab: str = ""
    call: LlmCall | None = None
    check: SelfCheck | None = None
    signals: list[str] = field(default_factory=list)
    voices: list[tuple[str, str]] = field(default_factory=list)


def receipt_panel(reply: Message, receipt: Recall | None, *, space: Space) -> Panel:
    check = SelfCheck.objects.filter(reply=reply).first()
    known = {"call": _call(reply), "check": check, "signals": _signals(check)}
    if receipt is None:
        return Panel(reply, None, **known)
    gate = score_rows.gate_of(receipt, space)
    items = [_item(row, space=space, gate=gate) for row in receipts.items_of(receipt)]
    cut = [item for item in items if item.cut]
    sections = _sections(receipt)
    return Panel(
        reply,
        receipt,
        # What the reply says first; the order of the recall stands on the full receipt.
        injected=sorted((item for item in items if not item.cut), key=lambda one: not one.mark),
        window=_window(receipt),
        summary=_summary(receipt),
        cut=cut[:SHOWN_CUT],
        rest=_rest(receipt, items, cut[SHOWN_CUT:]),
        sections=sections,
        tokens=sum(count for _name, count in sections) or receipt.tokens,
        budget=receipt.budget or space.options.token_budget,
        url=space_url("recall:receipt", space, pk=receipt.pk),
        lab=space_url("recall:lab", space),
        voices=score_rows.legend(),
        **known,
    )


def _window(receipt: Recall) -> list[Message]:
    if not (receipt.message and receipt.chat and receipt.sections.get("history")):
        return []
    return chats.short_term(receipt.chat, now=receipt.at, before=receipt.message)


def _summary(receipt: Recall) -> str:
    if not (receipt.chat and receipt.sections.get("summary")):
        return ""
    row = summary.current(receipt.chat)
    return row.text if row and row.made_at <= receipt.at else _("It was made anew since.")


def _item(row: RecallItem, *, space: Space, gate: score_rows.Gate) -> Item:
    made = score_rows.of_item(row, space=space, shape=Item)
    made.text = short(made.text, LENGTH)
    made.nearest = row.injected and gate.is_below(row)
    return made


def _rest(receipt: Recall, items: list[Item], unlisted: list[Item]) -> list[tuple[int, str]]:
    counts = Counter(item.cut for item in unlisted)
    beyond = receipt.candidates - len(items)
    if beyond > 0:
        counts[str(score_rows.CUT[RecallItem.Cut.GATE])] += beyond
    return [(count, reason) for reason, count in counts.most_common()]


def _sections(receipt: Recall) -> list[tuple[str, int]]:
    parts = score_rows.sections(receipt.sections)
    if not any(count for _name, count in parts):
        return [(_("memory"), receipt.tokens)] if receipt.tokens else []
    return parts


def _call(reply: Message) -> LlmCall | None:
    calls = LlmCall.objects.filter(message=reply.reply_to_id, purpose=LlmCall.Purpose.CHAT)
    return calls.order_by("-ok", "-at").first() if reply.reply_to_id else None


def _signals(check: SelfCheck | None) -> list[str]:
    if check is None:
        return []
    said = [str(SIGNALS.get(name, name)) for name in check.signals]
    return [*said, *(f"“{phrase}”" for phrase in check.forbidden)]
