"""The chats of a space and one of them: what their pages show."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from kenoweb.auth.access import chat_for, rows_in
from kenoweb.chats import transcript
from kenoweb.chats.receipt_panel import Panel, receipt_panel
from kenoweb.chats.transcript import Tail, beginning, tail
from kenoweb.ui import history_thread, list_page
from kenoweb.ui.filters import number_in
from kenoweb.ui.formatting import channel_name
from kenoweb.ui.list_page import Order, by_index, counted, part
from kenoweb.ui.responses import space_url
from kenoweb.ui.text_search import substring_filter
from memory import working
from memory.chats import service as chats
from memory.llm.choose import Choice, choose
from memory.models import Chat, Episode, Fact, Message, Recall, Space, WorkingNote
from memory.retrieval import receipts

WEB = "web"
PAGE_SIZE = 40
AROUND = 15
# Counting stops here, for each chat by itself.
COUNT_LIMIT = 1000
COUNT = """(SELECT count(*) FROM
  (SELECT 1 FROM memory_message AS said WHERE said.chat_id = memory_chat.id LIMIT %s) AS counted)"""
TIME = Order("sent_at")
STEPS = 12


@dataclass(frozen=True)
class ChatList:
    rows: list[Chat]
    q: str
    count: str
    more: str
    nothing_yet: bool
    # Private chats of others, for an owner: whose they are and not a word of them.
    closed: list[Chat] = field(default_factory=list)


def chat_list(space: Space, *, q: str = "", after: str = "") -> ChatList:
    """The chats, the one with the newest message first."""
    rows = rows_in(space, Chat).filter(substring_filter(q, "title", "key", "context"))
    found = part(_described(rows), order=Order("at"), after=after)
    url = space_url("chats:index", space)
    more = f"{url}?{urlencode({'q': q, 'after': found.after})}" if found.after else ""
    [count] = counted(rows)
    for chat in found.rows:
        chat.where = channel_name(chat.channel)
        chat.messages_said = list_page.capped_number(chat.said, COUNT_LIMIT)
    return ChatList(
        rows=found.rows,
        q=q,
        count=list_page.capped_number(count),
        more=more,
        nothing_yet=not found.rows and not q,
    )


def closed_chats(space: Space) -> QuerySet[Chat]:
    """The private chats that whoever asks does not see."""
    hidden = getattr(space, "hidden_chats", ())
    return Chat.objects.filter(pk__in=hidden).select_related("owner__user").order_by("pk")


def closed_chat(space: Space, pk: int) -> Chat:
    found = closed_chats(space).filter(pk=pk).first()
    return found or chat_for(space, pk)


def _described(rows: QuerySet) -> QuerySet:
    last = Message.objects.filter(chat=OuterRef("pk")).order_by("-sent_at", "-pk")
    return rows.annotate(
        at=Coalesce("last_message_at", "created_at"),
        last_text=Subquery(last.values("text")[:1]),
        last_author=Subquery(last.values("author")[:1]),
        last_lang=Subquery(last.values("language")[:1]),
        said=RawSQL(COUNT, [COUNT_LIMIT + 1], output_field=IntegerField()),
    )


@dataclass(frozen=True)
class Window:
    """A part of a transcript, and the addresses of what comes before and after it."""

    lines: list[transcript.Line]
    earlier: str = ""
    later: str = ""


def window(chat: Chat, *, url: str, asked: dict[str, str], until: int, chosen: int = 0) -> Window:
    """The part the address asks for: around a message, before or after a place, else the end."""
    said, wanted = transcript.in_chat(chat), number_in(asked.get("message", ""))
    if wanted and (target := said.filter(pk=wanted).first()):
        return _around(chat, said, target, url=url)
    if asked.get("later"):
        order = Order("sent_at", down=False)
        found = part(said, order=order, after=asked["later"], size=PAGE_SIZE)
        earlier = _cursor(found.rows[0]) if found.rows else ""
        return _window(chat, found.rows, url, earlier=earlier, later=found.after)
    if not asked.get("before"):
        said = said.filter(pk__lte=until)
    found = part(said, order=TIME, after=asked.get("before", ""), size=PAGE_SIZE)
    later = _cursor(found.rows[0]) if asked.get("before") and found.rows else ""
    return _window(chat, found.rows[::-1], url, found.after, later, chosen=chosen)


def _around(chat: Chat, said: QuerySet, target: Message, *, url: str) -> Window:
    spot = _cursor(target)
    old = part(said, order=TIME, after=spot, size=AROUND)
    new = part(said, order=Order("sent_at", down=False), after=spot, size=AROUND)
    rows = [*old.rows[::-1], target, *new.rows]
    return _window(chat, rows, url, old.after, new.after, chosen=target.pk)


def _window(
    chat: Chat, rows: Sequence[Message], url: str, earlier="", later="", chosen: int = 0
) -> Window:
    return Window(
        transcript.lines(chat, rows, chosen=chosen, to_the_end=not later),
        earlier=f"{url}?{urlencode({'before': earlier})}" if earlier else "",
        later=f"{url}?{urlencode({'later': later})}" if later else "",
    )


def _cursor(message: Message) -> str:
    return f"{message.pk}~{message.sent_at.isoformat()}"


@dataclass(frozen=True)
class ChatPage:
    chat: Chat
    url: str
    where: str
    count: str
    window: Window
    tail: Tail | None
    panel: Panel | None
    views: list[list_page.View]
    provider: Choice
    q: str = ""
    found: list[Message] = field(default_factory=list)
    # Whether the panel was asked for by its address.
    chosen: bool = False

    @property
    def is_web(self) -> bool:
        return self.chat.channel == WEB


def chat_page(chat: Chat, *, space: Space, asked: dict[str, str], now: datetime) -> ChatPage:
    url = space_url("chats:detail", space, pk=chat.pk)
    q = asked.get("q", "").strip()
    elsewhere = any(asked.get(name) for name in ("before", "later", "message"))
    until, moves = beginning(chat, now=now)
    still = Tail(chat, lines=[], since=until)
    end = None if elsewhere or q else tail(chat, since=until, now=now) if moves else still
    numbers = counted(Message.objects.filter(chat=chat), *inside(chat))
    reply = number_in(asked.get("reply", ""))
    return ChatPage(
        chat=chat,
        url=url,
        where=channel_name(chat.channel),
        count=list_page.capped_number(numbers[0]),
        window=window(chat, url=url, asked=asked, until=until, chosen=reply)
        if not q
        else Window([]),
        tail=end,
        panel=panel(chat, space=space, reply=reply),
        views=views(chat, space=space, here="detail", numbers=numbers[1:]),
        provider=choose("chat", space=space),
        q=q,
        found=_search(chat, q) if q else [],
        chosen=bool(reply),
    )


def panel(chat: Chat, *, space: Space, reply: int = 0) -> Panel | None:
    """The receipt of the reply that was asked for, else of the newest that has one."""
    if reply:
        found = Message.objects.filter(chat=chat, role=Message.Role.ASSISTANT, pk=reply).first()
        return receipt_panel(found, receipts.of_reply(found), space=space) if found else None
    made = Recall.objects.filter(reply__chat=chat, reply__role=Message.Role.ASSISTANT)
    newest = made.order_by("-reply__sent_at", "-reply__pk", "-at", "-pk")
    receipt = newest.select_related("reply").first()
    return receipt_panel(receipt.reply, receipt, space=space) if receipt else None


def inside(chat: Chat) -> tuple[QuerySet, QuerySet]:
    """What was learned in the chat, and its episodes: its pages say how many."""
    return learned_in(chat), Episode.objects.filter(chat=chat)


def views(
    chat: Chat, *, space: Space, here: str, numbers: list[int] | None = None
) -> list[list_page.View]:
    facts, episodes = numbers or counted(*inside(chat))
    there = space_url("episodes:index", space)
    found = [
        ("detail", _("Transcript"), space_url("chats:detail", space, pk=chat.pk), 0),
        ("facts", _("Facts from here"), space_url("chats:facts", space, pk=chat.pk), facts),
        ("episodes", _("Episodes"), there and f"{there}?chat={chat.pk}", episodes),
        ("about", _("Context"), space_url("chats:about", space, pk=chat.pk), 0),
    ]
    return [
        list_page.View(label, url, list_page.capped_number(count) if count else "", name == here)
        for name, label, url, count in found
        if url
    ]


def learned_in(chat: Chat) -> QuerySet:
    """What was learned from what was said here, wherever it is believed."""
    return Fact.objects.filter(message__chat=chat)


def _search(chat: Chat, q: str) -> list[Message]:
    rows = Message.objects.filter(substring_filter(q, "text"), chat=chat)
    return list(rows.order_by("-sent_at", "-pk")[:PAGE_SIZE])


@dataclass(frozen=True)
class About:
    chat: Chat
    url: str
    where: str
    views: list[list_page.View]
    note: WorkingNote | None
    note_is_stale: bool
    note_url: str
    # What a reply written now would see, oldest first.
    window: list[Message]
    steps: list[history_thread.Step]


def about(chat: Chat, *, space: Space, user: User, now: datetime) -> About:
    fresh = working.current(chat, now=now)
    note = fresh or WorkingNote.objects.filter(chat=chat).first()
    return About(
        chat=chat,
        url=space_url("chats:detail", space, pk=chat.pk),
        where=channel_name(chat.channel),
        views=views(chat, space=space, here="about"),
        note=note if note and str(note) else None,
        note_is_stale=fresh is None,
        note_url=space_url("working:detail", space, pk=note.pk) if note else "",
        window=chats.short_term(chat, now=now),
        steps=[
            one
            for one in history_thread.thread(chat, space=space, user=user, most=STEPS)
            if one.undo
        ],
    )


@dataclass(frozen=True)
class ChatFacts:
    chat: Chat
    url: str
    views: list[list_page.View]
    rows: list[Fact]
    more: str


def chat_facts(chat: Chat, *, space: Space, after: str = "") -> ChatFacts:
    """What was learned from what was said here, the newest first."""
    facts = learned_in(chat).select_related("message")
    with by_index():  # message by message: the planner would read all facts of all chats
        found = part(facts, order=Order("created_at"), after=after)
    here = space_url("chats:facts", space, pk=chat.pk)
    return ChatFacts(
        chat=chat,
        url=space_url("chats:detail", space, pk=chat.pk),
        views=views(chat, space=space, here="facts"),
        rows=found.rows,
        more=f"{here}?{urlencode({'after': found.after})}" if found.after else "",
    )
