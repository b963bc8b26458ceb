"""A terminal chat, to try Keno without any account or key."""

import asyncio
import getpass
import os
import re
import sys
from collections.abc import Callable
from functools import partial

from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _

from bot.channels.base import Channel, Outgoing, first_done, wait_for_space
from memory.chats import inbox
from memory.chats import service as chats
from memory.models import Chat, OutboxItem, Space

# Lines pasted together belong together.
SILENCE = 0.3
POLL_SECONDS = 0.05
LAST_WORDS_SECONDS = 30
LEAVE = {"/exit", "/quit", "/salir", "/bye"}
BOLD, DIM, COLOUR, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"
CLEAR_LINE = "\r\x1b[K"
# The last paragraph, when it says what was learned and how to take that back.
NOTED = re.compile(r"\n\n((?:(?!\n\n).)*\(/\w[^()]*\))\Z", re.S)


class ConsoleChannel(Channel):
    name = "console"

    def __init__(self, person: str = "", *, write: Callable[[str], object] | None = None):
        self.person = person or getpass.getuser().capitalize()
        self.is_tty = write is None and sys.stdin.isatty() and sys.stdout.isatty()
        self.colour = self.is_tty and "NO_COLOR" not in os.environ
        self._write = write or partial(print, end="", flush=True)
        # A script wants whole answers; a person likes to see them grow.
        self.streams = self.is_tty
        self._shown = ""

    async def run(self, space: Space | None, stop: asyncio.Event) -> None:
        space = await wait_for_space(space, stop)
        chat = await sync_to_async(chats.find_or_open)(space, channel=self.name, external_id="me")
        self._say(_("Talk to Keno. /help shows the commands, /exit leaves.") + "\n", DIM)
        lines: asyncio.Queue = asyncio.Queue()
        close = _listen(lines)
        try:
            self._prompt()
            while line := await _next(lines, stop):
                if line.strip().lower() in LEAVE:
                    break
                await self._receive(chat, line.strip())
            await self._wait_for_answers(chat)
        finally:
            close()
            stop.set()

    def draft(self, chat: Chat, text: str) -> None:
        if text.startswith(self._shown):
            self._write(text[len(self._shown) :] if self._shown else self._begin() + text)
            self._shown = text

    async def send(self, outgoing: Outgoing) -> str:
        body, noted = [*NOTED.split(outgoing.text), ""][:2]
        shown, self._shown = self._shown, ""
        if shown and body.startswith(shown):
            self._write(body[len(shown) :] + "\n")
        else:
            # Another answer than the one that was growing: it begins on a line of its own.
            self._write(("\n" if shown else "") + self._begin() + f"{body}\n")
        if noted:
            self._say(noted, DIM)
        self._write("\n")
        self._prompt()
        return ""

    async def _receive(self, chat: Chat, text: str) -> None:
        if not text:
            self._prompt()
            return
        if not self.is_tty:
            # A script reads like a talk: each message stands above its answer.
            self._write(f"{self.person} › {text}\n")
        await sync_to_async(inbox.receive)(
            chat, text=text, author=self.person, author_id="me", silence=SILENCE
        )
        if not self.is_tty:
            await self._wait_for_answers(chat)

    async def _wait_for_answers(self, chat: Chat) -> None:
        try:
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                while await sync_to_async(_is_unfinished)(chat):
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            self._say(_("No answer yet. It will be there when you come back."), DIM)

    def _begin(self) -> str:
        return (CLEAR_LINE if self.is_tty else "") + self._paint("Keno › ", BOLD + COLOUR)

    def _prompt(self) -> None:
        if self.is_tty:
            self._write(self._paint(f"{self.person} › ", BOLD))

    def _say(self, line: str, style: str) -> None:
        self._write(self._paint(line, style) + "\n")

    def _paint(self, text: str, style: str) -> str:
        return f"{style}{text}{PLAIN}" if self.colour else text


def _is_unfinished(chat: Chat) -> bool:
    unsent = OutboxItem.objects.filter(chat=chat, delivered_at=None, failed_at=None)
    return inbox.unanswered(chat.pk).exists() or unsent.exists()


def _listen(lines: asyncio.Queue) -> Callable[[], object]:
    """Put every line of the input into the queue, and "" at its end; return what stops that."""
    loop, number, rest = asyncio.get_running_loop(), sys.stdin.fileno(), [b""]

    def read() -> None:
        data = os.read(number, 65536)
        *whole, rest[0] = (rest[0] + data).split(b"\n")
        whole += [rest[0]] if not data and rest[0] else []
        for line in whole:
            lines.put_nowait(line.decode("utf-8", "replace") + "\n")
        if not data:
            lines.put_nowait("")
            loop.remove_reader(number)

    try:
        loop.add_reader(number, read)
    except PermissionError:  # a file, which is always ready
        for line in [*sys.stdin, ""]:
            lines.put_nowait(line)
        return lambda: None
    return lambda: loop.remove_reader(number)


async def _next(lines: asyncio.Queue, stop: asyncio.Event) -> str:
    """Return the next line, or "" at the end of the input or when told to stop."""
    line = asyncio.ensure_future(lines.get())
    await first_done(line, stop.wait())
    return line.result() if line.done() and not line.cancelled() else ""
