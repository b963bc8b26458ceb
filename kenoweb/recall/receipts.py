"""The pages of receipts: the list of real recalls, and one with all its numbers."""

import textwrap
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kenoweb.auth.access import rows_in
from kenoweb.recall import score_rows
from kenoweb.ui import list_page
from kenoweb.ui.charts import n
from kenoweb.ui.filters import Filter, day_in, in_chat, number_in
from kenoweb.ui.formatting import day_start, share
from kenoweb.ui.list_page import Order, counted, part
from kenoweb.ui.responses import message_url
from kenoweb.ui.text_search import substring_filter
from memory.models import Fact, Message, Recall, RecallItem, Space
from memory.retrieval.receipts import items_of

NEWEST = Order("at")
MODES = {
    "hybrid": _("words and meaning"),
    "words": _("words alone"),
    "none": _("nothing: it failed"),
}
UNJUDGED = {
    "unasked": _("not needed: nothing was asked"),
    "time": _("had no time for all of them"),
    "off": _("switched off"),
}
LEVEL_TONE = {"none": "", "low": "warn", "medium": "accent", "high": "ok"}


@dataclass(frozen=True)
class ReceiptFilter(Filter):
    chat: str = ""
    level: str = ""
    error: str = ""
    day: str = ""
    fact: str = ""

    CHOICES: ClassVar = {
        "level": {"": _("Any confidence")} | dict(Recall.Level.choices),
        "error": {"": _("With or without"), "yes": _("something went wrong")},
    }

    @classmethod
    def _makes_sense(cls, name: str, value: str) -> bool:
        if name == "day":
            return day_in(value) is not None
        if name == "fact":
            return number_in(value) > 0
        return super()._makes_sense(name, value)


# The picture of a receipt: rows, characters a line, and pixels from line to line.
CARD_ROWS, CARD_WIDTH, CARD_LINE = 3, 62, 24


@dataclass(frozen=True, kw_only=True)
class ReceiptList(list_page.ListPage):
    LABELS: ClassVar = {
        "q": _("with"),
        "chat": _("in"),
        "level": _("found"),
        "day": _("day is"),
        "error": "",
        "fact": _("used fact"),
    }
    FIELDS: ClassVar = {
        "chat": _("Where"),
        "level": _("Confidence"),
        "error": _("Errors"),
    }

    fact: Fact | None


def receipt_list(space: Space, filters: ReceiptFilter) -> ReceiptList:
    rows = find(space, filters)
    page = part(rows.select_related("chat"), order=NEWEST, after=filters.after)
    # What fits on one page has been counted by reading it.
    numbers = counted(rows_in(space, Recall), *([rows] if page.after or filters.after else []))
    return ReceiptList(
        filter=filters,
        rows=_with_numbers(page.rows),
        url=reverse("recall:receipts", args=[space.slug]),
        after=page.after,
        found=numbers[1] if len(numbers) > 1 else len(page.rows),
        of_chats=list_page.chats_of(space),
        nothing_yet=not numbers[0],
        fact=rows_in(space, Fact).filter(pk=filters.fact).first() if filters.fact else None,
    )


def find(space: Space, filters: ReceiptFilter) -> QuerySet:
    rows = rows_in(space, Recall).filter(in_chat(filters.chat))
    if filters.level:
        rows = rows.filter(level=filters.level)
    if filters.error:
        rows = rows.exclude(error="")
    if day := day_in(filters.day):
        rows = rows.filter(at__gte=day_start(day), at__lt=day_start(day + timedelta(days=1)))
    if filters.fact:
        used = RecallItem.objects.filter(fact=filters.fact, injected=True)
        rows = rows.filter(pk__in=used.values("recall"))
    return rows.filter(substring_filter(filters.q, "query")) if filters.q else rows


def detail(receipt: Recall, *, space: Space, apart: str = "") -> dict:
    """Return the context of one receipt, with exactly its numbers."""
    items = items_of(receipt)
    rows = [score_rows.of_item(item, space=space) for item in items]
    gate = score_rows.gate_of(receipt, space)
    for row, item in zip(rows, items, strict=True):
        row.nearest = item.injected and gate.is_below(item)
        row.gate = gate.of(item.kind) if item.kind != "pattern" else 0.0
    injected = [row for row in rows if not row.cut]
    sections = score_rows.sections(receipt.sections)
    if not any(count for _name, count in sections):
        sections = [(_("memory"), receipt.tokens)]
    return {
        "receipt": receipt,
        "injected": injected,
        "cut": [row for row in rows if row.cut],
        "apart": score_rows.chosen(rows, number_in(apart)),
        "nothing_passed": bool(injected) and all(row.nearest for row in injected),
        **gate.context(),
        "gates": score_rows.gates(gate, items),
        "legend": score_rows.legend(),
        "sections": sections,
        "tokens": sum(count for _name, count in sections),
        "budget": receipt.budget or space.options.token_budget,
        "tone": LEVEL_TONE.get(receipt.level, ""),
        "reply_url": url_of(receipt.reply, space),
        "message_url": url_of(receipt.message, space),
        "cues": _cues(receipt.cue),
        "mode": MODES.get(receipt.mode, receipt.mode),
        "unjudged": UNJUDGED.get(receipt.left_out.get("unjudged", ""), ""),
        "times": score_rows.times(receipt.ms),
        "lab_url": _in_the_lab(receipt, space),
    }


def card(receipt: Recall, *, space: Space) -> dict:
    """Return the context of the receipt as a picture: question, the best memories, reply."""
    used = detail(receipt, space=space)["injected"][:CARD_ROWS]
    reply = receipt.reply.text if receipt.reply else ""
    question, y = _lines(receipt.query, 3, top=92)
    rows = []
    for row in used:
        words, end = _lines(row.text, 2, top=y + 34)
        wide = n(max(2.0, 150 * min(1.0, row.relevance)))
        rows.append({"words": words, "share": share(row.relevance), "wide": wide, "y": y + 24})
        y = end
    heading = y + 34
    answer, y = _lines(reply, 6, top=heading + 26)
    return {
        "question": question,
        "rows": rows,
        "heading": heading,
        "answer": answer,
        "height": y + 44,
        "foot": y + 24,
        "receipt": receipt,
    }


def _lines(text: str, most: int, *, top: int) -> tuple[list[tuple[int, str]], int]:
    """Return (y, line) of the text in at most so many lines, and the y below the last."""
    lines = textwrap.wrap(text, CARD_WIDTH, max_lines=most, placeholder=" …") or [""]
    places = [(top + CARD_LINE * number, line) for number, line in enumerate(lines)]
    return places, top + CARD_LINE * len(lines)


def as_markdown(receipt: Recall, *, space: Space) -> str:
    """Return question, memories with their relevance, and reply, to paste somewhere."""
    used = detail(receipt, space=space)["injected"]
    lines = [f"> {receipt.query}", ""]
    lines += [f"- {share(row.relevance)} {row.text} ({row.label})" for row in used]
    if receipt.reply:
        lines += ["", f"**Keno:** {receipt.reply.text}"]
    return "\n".join(lines) + "\n"


def _with_numbers(rows: list[Recall]) -> list[Recall]:
    """Count the memories that each put into its prompt, in one query for the page."""
    items = RecallItem.objects.filter(recall__in=rows).values_list("recall")
    numbers = dict(items.annotate(n=Count("pk", filter=Q(injected=True))))
    for row in rows:
        row.injected = numbers.get(row.pk, 0)
        row.tone = LEVEL_TONE.get(row.level, "")
    return rows


def url_of(message: Message | None, space: Space) -> str:
    """Return the URL of the message in its chat; empty without one."""
    return message_url(space, message.pk, message.chat_id) if message else ""


def _in_the_lab(receipt: Recall, space: Space) -> str:
    """Return the URL that asks the same question today, by the profile of then."""
    query = {
        "q": receipt.query,
        "as": receipt.person,
        "chat": receipt.chat_id or "",
        "mode": "strict" if receipt.strict else "lenient",
        "profile": receipt.profile,
    }
    return f"{reverse('recall:lab', args=[space.slug])}?{urlencode(query)}"


def _cues(cue: dict | None) -> list[dict]:
    if not cue:
        return []
    ends = {name: datetime.fromisoformat(cue[name]) for name in ("start", "end") if cue.get(name)}
    return [{"phrase": cue.get("phrase", "")} | ends]
