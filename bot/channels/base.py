"""What a channel is. To add one, copy the smallest neighbour and name it in channels/__init__."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.utils import timezone

from memory.models import Chat, Draft, Space


class SendFailed(Exception):
    """The channel could not deliver. `permanent` means that trying again is useless."""

    def __init__(self, message: str, *, permanent: bool = False, retry_after: float | None = None):
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after


@dataclass(frozen=True)
class Outgoing:
    """One thing to send. `key` is the same each time it is sent: whoever can, drops doubles."""

    chat: Chat
    text: str
    key: str
    reply_to: str = ""
    kind: str = "reply"


class Channel:
    """A way in and out. The defaults suit a channel that only sends."""

    name = ""
    # False when the database row itself is the delivery, as for the dashboard's chat page.
    delivers = True
    # True when `draft` shows something.
    streams = False

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


async def home(space: Space | None, stop: asyncio.Event, *, look: float = 5) -> Space:
    """The space of new chats; before the first one is made, wait for it."""
    while space is None:
        space = await sync_to_async(Space.objects.order_by("pk").first)()
        if space is None:
            await asyncio.sleep(look)
        if stop.is_set():
            raise asyncio.CancelledError
    return space


@dataclass(frozen=True)
class AllowList:
    """A person of the list may talk anywhere; in a chat of the list anybody may."""

    people: frozenset[str] = frozenset()
    chats: frozenset[str] = frozenset()

    @classmethod
    def of(cls, people: Iterable[object] = (), chats: Iterable[object] = ()) -> "AllowList":
        return cls(frozenset(map(str, people)), frozenset(map(str, chats)))

    def lets_in(self, *, person: object, chat: object) -> bool:
        return str(person) in self.people or str(chat) in self.chats


class ApiChannel(Channel):
    """Programs with a token: who said something reads the answer where it is kept."""

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
