"""The chats of a space, one of them, and the receipt of a reply: what their pages show."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import rows_in
from kenoweb.chats import transcript
from kenoweb.chats.transcript import Tail, last_settled, tail
from kenoweb.recall import score_rows
from kenoweb.ui import charts, history_thread, list_page
from kenoweb.ui.filters import number_in
from kenoweb.ui.formatting import channel_name, share
from kenoweb.ui.list_page import Order, by_index, counted, part
from kenoweb.ui.responses import space_url
from kenoweb.ui.text_search import substring_filter
from memory import working
from memory.chats import service as chats
from memory.chats import summary
from memory.llm.choose import choose
from memory.models import (
    Chat,
    Episode,
    Fact,
    LlmCall,
    Message,
    Recall,
    RecallItem,
    SelfCheck,
    Space,
    WorkingNote,
)
from memory.retrieval import receipts
from memory.text.normalise import short

PAGE_SIZE = 40
AROUND = 15
# Counting the messages of one chat stops here.
COUNT_LIMIT = 1000
COUNT_SQL = """(SELECT count(*) FROM
  (SELECT 1 FROM memory_message AS said WHERE said.chat_id = memory_chat.id LIMIT %s) AS counted)"""
NEWEST_FIRST = Order("sent_at")
OLDEST_FIRST = Order("sent_at", down=False)
MAX_STEPS = 12
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
MAX_CUT = 6
MAX_LENGTH = 240
BAR_WIDTH = 96


def chat_list(space: Space, *, q: str = "", after: str = "") -> dict:
    """Return the chats, the one with the newest message first."""
    rows = rows_in(space, Chat).filter(substring_filter(q, "title", "key", "context"))
    page = part(_described(rows), order=Order("at"), after=after)
    url = space_url("chats:index", space)
    [count] = counted(rows)
    for chat in page.rows:
        chat.where = channel_name(chat.channel)
        chat.messages_said = list_page.capped_number(chat.said, COUNT_LIMIT)
    return {
        "rows": page.rows,
        "q": q,
        "count": list_page.capped_number(count),
        "more": f"{url}?{urlencode({'q': q, 'after': page.after})}" if page.after else "",
        "nothing_yet": not page.rows and not q,
    }


def closed_chats(space: Space) -> QuerySet[Chat]:
    """Return the private chats that the current member does not see."""
    hidden = getattr(space, "hidden_chats", ())
    return Chat.objects.filter(pk__in=hidden).select_related("owner__user").order_by("pk")


def _described(rows: QuerySet) -> QuerySet:
    last = Message.objects.filter(chat=OuterRef("pk")).order_by("-sent_at", "-pk")
    return rows.annotate(
        at=Coalesce("last_message_at", "created_at"),
        last_text=Subquery(last.values("text")[:1]),
        last_author=Subquery(last.values("author")[:1]),
        last_lang=Subquery(last.values("language")[:1]),
        said=RawSQL(COUNT_SQL, [COUNT_LIMIT + 1], output_field=IntegerField()),
    )


def window(chat: Chat, *, url: str, query: dict[str, str], until: int, chosen: int = 0) -> dict:
    """Return a part of the transcript, with the URLs of the parts before and after it.

    The query asks for what is around a message, before or after a place, or else for the end.
    """
    messages, wanted = transcript.in_chat(chat), number_in(query.get("message", ""))
    if wanted and (target := messages.filter(pk=wanted).first()):
        return _around(chat, messages, target, url=url)
    if later := query.get("later"):
        page = part(messages, order=OLDEST_FIRST, after=later, size=PAGE_SIZE)
        earlier = _cursor(page.rows[0]) if page.rows else ""
        return _window(chat, page.rows, url, earlier=earlier, later=page.after)
    before = query.get("before", "")
    if not before:
        messages = messages.filter(pk__lte=until)
    page = part(messages, order=NEWEST_FIRST, after=before, size=PAGE_SIZE)
    later = _cursor(page.rows[0]) if before and page.rows else ""
    return _window(chat, page.rows[::-1], url, page.after, later, chosen=chosen)


def _around(chat: Chat, messages: QuerySet, target: Message, *, url: str) -> dict:
    spot = _cursor(target)
    old = part(messages, order=NEWEST_FIRST, after=spot, size=AROUND)
    new = part(messages, order=OLDEST_FIRST, after=spot, size=AROUND)
    rows = [*old.rows[::-1], target, *new.rows]
    return _window(chat, rows, url, old.after, new.after, chosen=target.pk)


def _window(
    chat: Chat, rows: Sequence[Message], url: str, earlier="", later="", chosen: int = 0
) -> dict:
    return {
        "lines": transcript.lines(chat, rows, chosen=chosen, to_the_end=not later),
        "earlier": f"{url}?{urlencode({'before': earlier})}" if earlier else "",
        "later": f"{url}?{urlencode({'later': later})}" if later else "",
    }


def _cursor(message: Message) -> str:
    return f"{message.pk}~{message.sent_at.isoformat()}"


def chat_page(chat: Chat, *, space: Space, query: dict[str, str], now: datetime) -> dict:
    url = space_url("chats:detail", space, pk=chat.pk)
    q, reply = query.get("q", "").strip(), number_in(query.get("reply", ""))
    until, has_more = last_settled(chat, now=now)
    end = None
    if not q and not any(query.get(name) for name in ("before", "later", "message")):
        end = tail(chat, since=until, now=now) if has_more else Tail(chat, [], until)
    matches = Message.objects.filter(substring_filter(q, "text"), chat=chat)
    numbers = counted(Message.objects.filter(chat=chat), *facts_and_episodes(chat))
    return {
        "chat": chat,
        "url": url,
        "where": channel_name(chat.channel),
        "is_web": chat.channel == transcript.CHANNEL,
        "count": list_page.capped_number(numbers[0]),
        "window": None if q else window(chat, url=url, query=query, until=until, chosen=reply),
        "tail": end,
        "panel": panel(chat, space=space, reply=reply),
        "views": views(chat, space=space, here="detail", numbers=numbers[1:]),
        "provider": choose("chat", space=space),
        "q": q,
        "found": list(matches.order_by("-sent_at", "-pk")[:PAGE_SIZE]) if q else [],
        # Whether the URL asks for the panel.
        "chosen": bool(reply),
    }


def panel(chat: Chat, *, space: Space, reply: int = 0) -> dict | None:
    """Return the receipt of the reply that was asked for, else of the newest that has one."""
    if reply:
        row = Message.objects.filter(chat=chat, role=Message.Role.ASSISTANT, pk=reply).first()
        return receipt_panel(row, receipts.of_reply(row), space=space) if row else None
    recalls = Recall.objects.filter(reply__chat=chat, reply__role=Message.Role.ASSISTANT)
    newest = recalls.order_by("-reply__sent_at", "-reply__pk", "-at", "-pk")
    receipt = newest.select_related("reply").first()
    return receipt_panel(receipt.reply, receipt, space=space) if receipt else None


def facts_and_episodes(chat: Chat) -> tuple[QuerySet, QuerySet]:
    """Return what was learned in the chat, and its episodes, to be counted."""
    return learned_in(chat), Episode.objects.filter(chat=chat)


def views(
    chat: Chat, *, space: Space, here: str, numbers: list[int] | None = None
) -> list[list_page.View]:
    facts, episodes = numbers or counted(*facts_and_episodes(chat))
    tabs = [
        ("detail", _("Transcript"), space_url("chats:detail", space, pk=chat.pk), 0),
        ("facts", _("Facts from here"), space_url("chats:facts", space, pk=chat.pk), facts),
        (
            "episodes",
            _("Episodes"),
            f"{space_url('episodes:index', space)}?chat={chat.pk}",
            episodes,
        ),
        ("about", _("Context"), space_url("chats:about", space, pk=chat.pk), 0),
    ]
    return [
        list_page.View(label, url, list_page.capped_number(count) if count else "", name == here)
        for name, label, url, count in tabs
    ]


def learned_in(chat: Chat) -> QuerySet:
    """Return the facts learned from messages of this chat, wherever they are believed."""
    return Fact.objects.filter(message__chat=chat)


def about(chat: Chat, *, space: Space, user: User, now: datetime) -> dict:
    fresh = working.current(chat, now=now)
    note = fresh or WorkingNote.objects.filter(chat=chat).first()
    steps = history_thread.thread(chat, space=space, user=user, most=MAX_STEPS)
    return {
        "chat": chat,
        "url": space_url("chats:detail", space, pk=chat.pk),
        "where": channel_name(chat.channel),
        "views": views(chat, space=space, here="about"),
        "note": note if note and str(note) else None,
        "note_is_stale": fresh is None,
        "note_url": space_url("working:detail", space, pk=note.pk) if note else "",
        # What a reply written now would see, oldest first.
        "window": chats.short_term(chat, now=now),
        "steps": [step for step in steps if step.undo],
    }


def chat_facts(chat: Chat, *, space: Space, after: str = "") -> dict:
    """Return the facts learned from messages of this chat, the newest first."""
    facts = learned_in(chat).select_related("message")
    with by_index():  # message by message: the planner would read all facts of all chats
        page = part(facts, order=Order("created_at"), after=after)
    here = space_url("chats:facts", space, pk=chat.pk)
    return {
        "chat": chat,
        "url": space_url("chats:detail", space, pk=chat.pk),
        "views": views(chat, space=space, here="facts"),
        "rows": page.rows,
        "more": f"{here}?{urlencode({'after': page.after})}" if page.after else "",
    }


@dataclass
class Item(score_rows.Row):
    """One memory with its score, as the panel draws it."""

    @property
    def icon(self) -> str:
        return "chat" if self.kind == "message" else self.kind

    @property
    def bar(self) -> list[charts.Box]:
        return charts.score(self.voices, width=BAR_WIDTH)

    @property
    def said(self) -> str:
        return ", ".join(f"{name} {share(points)}" for name, points in self.voices if points)


def receipt_panel(reply: Message, receipt: Recall | None, *, space: Space) -> dict:
    check = SelfCheck.objects.filter(reply=reply).first()
    panel = {"reply": reply, "receipt": receipt, "call": _call(reply), "check": check}
    panel["signals"] = _signals(check)
    if receipt is None:
        return panel
    gate = score_rows.gate_of(receipt, space)
    items = [_item(row, space=space, gate=gate) for row in receipts.items_of(receipt)]
    cut = [item for item in items if item.cut]
    sections = _sections(receipt)
    return panel | {
        # What the reply used comes first; the order of the recall is on the full receipt.
        "injected": sorted(
            (item for item in items if not item.cut), key=lambda item: not item.mark
        ),
        # The messages just before, which are in the prompt without being recalled.
        "window": _short_term_window(receipt),
        "summary": _summary(receipt),
        "cut": cut[:MAX_CUT],
        # What is not listed, such as (53, "below the gate").
        "rest": _rest(receipt, items, cut[MAX_CUT:]),
        "sections": sections,
        "tokens": sum(count for _name, count in sections) or receipt.tokens,
        "budget": receipt.budget or space.options.token_budget,
        "url": space_url("recall:receipt", space, pk=receipt.pk),
        "voices": score_rows.legend(),
    }


def _short_term_window(receipt: Recall) -> list[Message]:
    if not (receipt.message and receipt.chat and receipt.sections.get("history")):
        return []
    return chats.short_term(receipt.chat, now=receipt.at, before=receipt.message)


def _summary(receipt: Recall) -> str:
    """Return the running summary as it was in the prompt."""
    if not (receipt.chat and receipt.sections.get("summary")):
        return ""
    row = summary.current(receipt.chat)
    return row.text if row and row.made_at <= receipt.at else _("It was made anew since.")


def _item(row: RecallItem, *, space: Space, gate: score_rows.Gate) -> Item:
    item = score_rows.of_item(row, space=space, shape=Item)
    item.text = short(item.text, MAX_LENGTH)
    item.nearest = row.injected and gate.is_below(row)
    return item


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
    signals = [str(SIGNALS.get(name, name)) for name in check.signals]
    return [*signals, *(f"“{phrase}”" for phrase in check.forbidden)]
