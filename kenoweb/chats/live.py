"""The end of a chat that still moves: what was just said, the answer as it grows, who is there."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Min
from django.utils import timezone

from kenoweb.chats import transcript
from memory.chats import inbox
from memory.models import Chat, Draft, Message
from memory.operations import health

# What a message teaches is found after the reply: that long the page waits for it.
SETTLING = timedelta(seconds=12)
# How often to look, by how long the person has been waiting; after the last, not by itself.
POLL_INTERVALS = [(timedelta(seconds=20), "700ms"), (timedelta(minutes=5), "4s")]
MAX_MESSAGES = 60


@dataclass(frozen=True)
class Tail:
    chat: Chat
    lines: list[transcript.Line]
    since: int
    # What is known of the answer, while it is being written; None when nothing is.
    draft: str | None = None
    poll_interval: str = ""
    waiting: bool = False
    nobody: bool = False

    @property
    def last(self) -> int:
        return max([self.since, *(line.message.pk for line in self.lines if line.message)])

    @property
    def answer(self) -> Message | None:
        replies = [line.message for line in self.lines if line.is_reply]
        return replies[-1] if replies else None

    @property
    def seen(self) -> str:
        """Changes when there is something new to show."""
        shown = [(line.message or line.notice).pk for line in self.lines]
        learned = [(fact.pk, fact.status) for line in self.lines for fact in line.learned]
        offered = [offer for line in self.lines for offer in line.offers]
        state = (shown, learned, offered, self.draft, self.poll_interval, self.waiting, self.nobody)
        return hashlib.sha256(repr(state).encode()).hexdigest()[:12]


def tail(chat: Chat, *, since: int, now: datetime | None = None) -> Tail:
    """Everything after the message `since`, and what the page is waiting for."""
    now = now or timezone.now()
    said = transcript.in_chat(chat)
    messages = list(said.filter(pk__gt=since).order_by("pk")[:MAX_MESSAGES])
    before = said.filter(pk=since).first() if messages else None
    asked = inbox.unanswered(chat.pk).exclude(trace=Message.Trace.IMPORT)
    first = asked.aggregate(at=Min("received_at"))["at"]
    drafts = Draft.objects.filter(chat=chat).values_list("text", flat=True)
    return Tail(
        chat=chat,
        lines=transcript.lines(chat, messages, before=before),
        since=since,
        draft=drafts.first() or "" if first else None,
        poll_interval=_poll_interval(now - first) if first else _settling(messages, now=now),
        waiting=first is not None,
        nobody=first is not None and not health.worker_runs(now=now),
    )


def beginning(chat: Chat, *, now: datetime | None = None) -> tuple[int, bool]:
    """The last message that is settled, and whether others come after it: the tail has those."""
    now = now or timezone.now()
    said = Message.objects.filter(chat=chat)
    open_ones = inbox.unanswered(chat.pk).exclude(trace=Message.Trace.IMPORT)
    fresh = said.filter(role=Message.Role.USER, ingested_at=None, handled_at__gt=now - SETTLING)
    fresh = fresh.exclude(text__startswith="/")
    firsts = [rows.aggregate(pk=Min("pk"))["pk"] for rows in (open_ones, fresh)]
    first = min([pk for pk in firsts if pk], default=None)
    settled = said.filter(pk__lt=first) if first else said
    return settled.aggregate(pk=Max("pk"))["pk"] or 0, first is not None


def _poll_interval(waited: timedelta) -> str:
    return next((poll_interval for until, poll_interval in POLL_INTERVALS if waited < until), "")


def _settling(messages: list[Message], *, now: datetime) -> str:
    """Still looking, briefly: the facts of an answered message come a moment after the answer."""
    fresh = [
        one
        for one in messages
        if one.role == Message.Role.USER
        and not one.ingested_at
        and not inbox.is_command(one.text)
        and now - (one.handled_at or one.received_at) < SETTLING
    ]
    return POLL_INTERVALS[0][1] if fresh else ""
