"""A plain terminal chat, to try Keno without any account."""

import asyncio
import getpass
import sys

from asgiref.sync import sync_to_async

from bot.channels.base import Channel, Outgoing
from memory import chats, inbox
from memory.models import Space

# Lines pasted together belong together.
SILENCE = 0.3


class ConsoleChannel(Channel):
    name = "console"

    def __init__(self, person: str = ""):
        self.person = person or getpass.getuser().capitalize()

    async def run(self, space: Space, stop: asyncio.Event) -> None:
        chat = await sync_to_async(chats.find_or_open)(space, channel=self.name, external_id="me")
        lines = asyncio.Queue()
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin, lambda: lines.put_nowait(sys.stdin.readline()))
        try:
            while line := await _next(lines, stop):
                if line.strip():
                    await sync_to_async(inbox.take)(
                        chat, text=line.strip(), author=self.person, author_id="me", silence=SILENCE
                    )
        finally:
            loop.remove_reader(sys.stdin)
            stop.set()

    async def send(self, outgoing: Outgoing) -> str:
        print(f"\nKeno: {outgoing.text}\n", flush=True)
        return ""


async def _next(lines: asyncio.Queue, stop: asyncio.Event) -> str:
    """The next line, or "" at the end of the input or when told to stop."""
    waits = {asyncio.ensure_future(lines.get()), asyncio.ensure_future(stop.wait())}
    done, rest = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for other in rest:
        other.cancel()
    found = next(iter(done)).result()
    return found if isinstance(found, str) else ""
