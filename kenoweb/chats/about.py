"""What is known of one chat besides its transcript: context, note, window, what was learned."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.models import User

from kenoweb.chats.listing import channel, learned_in, views
from kenoweb.ui import history_thread, list_page
from kenoweb.ui.paging import Order, by_index, part
from kenoweb.ui.space_urls import space_url
from memory import working
from memory.chats import service as chats
from memory.models import Chat, Fact, Message, Space, WorkingNote

STEPS = 12


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
        where=channel(chat.channel),
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
