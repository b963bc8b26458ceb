"""What a channel is. To add one, copy discord.py and name it in channels/__init__."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.chats import inbox
from memory.chats import service as chats
from memory.jobs import RateLimit
from memory.models import Chat, Draft, Message, Space
from memory.operations import leases
from memory.spaces import chat_links

log = logging.getLogger(__name__)
TYPING_SECONDS, MAX_TYPING_REPEATS = 4.5, 20
# How often a leader renews its lease, and the others look whether it has ended.
POLL_SECONDS = 1
HOME_SECONDS = 5


class SendFailed(Exception):
    """The channel could not deliver. `permanent` means that trying again is useless."""

    def __init__(self, message: str, *, permanent: bool = False, retry_after: float | None = None):
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after


@dataclass(frozen=True)
class Outgoing:
    """One thing to send. `key` is the same each time it is sent, so that doubles can be dropped."""

    chat: Chat
    text: str
    key: str
    reply_to: str = ""
    kind: str = "reply"


@dataclass(frozen=True)
class IncomingMessage:
    """One message to Keno, in the form that all channels share."""

    chat: str
    person: str
    author: str
    text: str
    external_id: str
    sent_at: datetime
    trace: str = "text"
    title: str = ""
    thread: str = ""
    edited: bool = False
    # Who wrote a forwarded message: "" when that is hidden, None when it is the sender's own.
    origin: str | None = None
    # Something that Keno cannot read, such as a voice message without words.
    unreadable: bool = False
    # What the list of allowed chats names: the chat, without its topic.
    place: str = ""

    @property
    def code(self) -> str:
        return self.text.removeprefix("/link").strip()


def chunks(text: str, *, longest: int) -> list[str]:
    """Split the text into parts that a channel takes, at the end of a line, else of a word."""
    parts, rest = [], text.strip()
    while len(rest) > longest:
        head = rest[: longest + 1]
        at = max(head.rfind("\n\n"), head.rfind("\n"))
        if at < longest // 2:
            at = max(at, head.rfind(" ")) if head.rfind(" ") > longest // 2 else longest
        at = at if at > 0 else longest
        parts.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    return [*parts, rest] if rest else parts


class Channel:
    """A way in and out. The defaults suit a channel that only sends."""

    name = ""
    # False when the database row itself is the delivery, as for the dashboard's chat page.
    delivers = True
    # True when `draft` shows something.
    streams = False
    # What people may type after a slash: for a channel that offers it in a menu.
    commands: Sequence[Any] = ()

    async def run(self, space: Space, stop: asyncio.Event) -> None:
        """Receive until told to stop. Hand each message to `memory.chats.inbox.receive`."""
        await stop.wait()

    async def send(self, outgoing: Outgoing) -> str:
        """Deliver; the answer is the message's id over there, or "". Raises SendFailed."""
        raise NotImplementedError

    async def typing(self, chat: Chat) -> None:
        """Show that an answer is being written, where that can be shown."""

    def draft(self, chat: Chat, text: str) -> None:
        """Show the answer so far. Called from the thread that thinks, not from the loop."""


async def wait_for_space(space: Space | None, stop: asyncio.Event) -> Space:
    """Return the space of new chats; before the first one is made, wait for it."""
    while space is None:
        space = await sync_to_async(Space.objects.order_by("pk").first)()
        if space is None:
            await asyncio.sleep(HOME_SECONDS)
        if stop.is_set():
            raise asyncio.CancelledError
    return space


class AllowList:
    """A person of the list may talk anywhere; in a chat of the list anybody may."""

    def __init__(self, people: Iterable[object] = (), chats: Iterable[object] = ()):
        self.people = set(map(str, people))
        self.chats = set(map(str, chats))

    def lets_in(self, *, person: object, chat: object) -> bool:
        return str(person) in self.people or str(chat) in self.chats


class ListeningChannel(Channel):
    """A channel that receives messages: it checks who may write and how often, and shows typing.

    A subclass parses what comes into an IncomingMessage and gives it to `hear`; it says how to
    `send`, to `tell` and to show `typing`. Nobody is let in unless a list, or a code that a member
    made on the dashboard, says so.
    """

    # Seconds of silence before an answer; None: as the space has it.
    silence: float | None = None

    def __init__(self, allow: AllowList):
        self.allow = allow
        self.limits = RateLimit(settings.LIMIT_PER_MINUTE, settings.LIMIT_PER_HOUR)
        self._typing: dict[int, asyncio.Task] = {}

    async def hear(self, space: Space | None, incoming: IncomingMessage) -> Message | None:
        """Store a message to be answered, when its author may write here."""
        if not self.limits.allow(incoming.person, now=timezone.now()):
            log.warning("over the limit", extra={"person": incoming.person})
            return None
        space = await sync_to_async(self.admit)(space, incoming)
        if space is None:
            who = {"person": incoming.person, "where": incoming.chat}
            log.warning("not on the list", extra=who)
            return None
        if incoming.unreadable:
            await self.tell(incoming, _("I can read only text. Please write it, or add a caption."))
            return None
        message = await sync_to_async(self._receive)(space, incoming)
        if message is not None:
            chat = message.chat
            if chat.pk not in self._typing or self._typing[chat.pk].done():
                self._typing[chat.pk] = asyncio.create_task(self._keep_typing(chat))
        return message

    def admit(self, space: Space | None, incoming: IncomingMessage) -> Space | None:
        """Return the space they may write in, by a list, a linked account or a member's code."""
        if space is None:
            return None
        allowed = self.allow.lets_in(person=incoming.person, chat=incoming.place)
        author = {"channel": self.name, "author_id": incoming.person}
        if allowed or chat_links.is_linked(space, **author):
            return space
        return space if chat_links.is_open(space, code=incoming.code) else None

    async def tell(self, incoming: IncomingMessage, text: str) -> None:
        """Reply at once, without keeping it."""

    def stop_typing(self) -> None:
        for task in self._typing.values():
            task.cancel()

    def _receive(self, space: Space, incoming: IncomingMessage) -> Message | None:
        names = {"title": incoming.title, "thread": incoming.thread}
        chat = chats.find_or_open(space, channel=self.name, external_id=incoming.chat, **names)
        store = inbox.edit if incoming.edited else inbox.receive
        return store(
            chat,
            text=incoming.text,
            external_id=incoming.external_id,
            author=incoming.author,
            author_id=incoming.person,
            trace=incoming.trace,
            origin=incoming.origin,
            sent_at=incoming.sent_at,
            silence=self.silence,
        )

    async def _keep_typing(self, chat: Chat) -> None:
        for _time in range(MAX_TYPING_REPEATS):
            if not await sync_to_async(inbox.unanswered(chat.pk).exists)():
                return
            try:
                await self.typing(chat)
            except Exception as error:
                # It is only a nicety, and each library has errors of its own.
                log.info("cannot show typing", extra={"why": str(error)})
                return
            await asyncio.sleep(TYPING_SECONDS)


class ApiChannel(Channel):
    """Programs with a token: they read the answer where it is kept."""

    name = "api"
    delivers = False


class WebChannel(Channel):
    name = "web"
    delivers = False
    streams = True

    def draft(self, chat: Chat, text: str) -> None:
        Draft.objects.update_or_create(
            chat=chat, defaults={"text": text, "updated_at": timezone.now()}
        )


async def first_done(*waits: Awaitable) -> None:
    """Wait until one of them is done, and cancel the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    _, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()


class LeadershipLost(Exception):
    """The lease could not be renewed; another process may lead now."""


@asynccontextmanager
async def hold_leadership(name: str, stop: asyncio.Event) -> AsyncIterator[bool]:
    """Wait until no other process leads; False when told to stop before that.

    When the lease cannot be renewed, what runs inside is ended: another may lead.
    """
    lease = leases.offer(f"channel-{name}")
    while not await sync_to_async(leases.take)(lease):
        if stop.is_set():
            yield False
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), POLL_SECONDS)
    watching = asyncio.create_task(_watch(lease, asyncio.current_task()))
    try:
        yield True
    except asyncio.CancelledError as cancelled:
        if watching.done():
            raise LeadershipLost from cancelled
        raise
    finally:
        watching.cancel()
        with suppress(DatabaseError):
            await sync_to_async(leases.release)(lease)


async def _watch(lease: leases.Held, leader: asyncio.Task | None) -> None:
    """Renew the lease for as long as the leader runs."""
    renewed = True
    while renewed:
        await asyncio.sleep(POLL_SECONDS)
        try:
            renewed = await sync_to_async(leases.take)(lease)
        except DatabaseError:
            renewed = False
    log.warning("lost the lead")
    if leader:
        leader.cancel()
