"""Telegram: long polling, or a webhook that only Telegram can call."""

import asyncio
import html
import logging
import os
import re
import secrets
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

import psycopg
import telegram
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _
from telegram import Message, Update
from telegram.constants import ChatAction, ParseMode
from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter
from telegram.request import HTTPXRequest

from bot.channels import (
    http_server as serving,
)
from bot.channels.base import AllowList, Channel, Outgoing, SendFailed, home
from bot.channels.http_server import Request, Response
from memory.chats import inbox
from memory.chats import service as chats
from memory.jobs import RateLimit
from memory.models import Chat, Space
from memory.spaces import chat_links, connections

MAX_MESSAGE_LENGTH = 4000
NO_PREVIEW = telegram.LinkPreviewOptions(is_disabled=True)
_BLOCK = re.compile(r"```(?:\w+\n)?(.*?)```", re.S)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\((https?://[^\s)]{1,1000})\)")
_STRONG = re.compile(r"\*\*(?=\S)([^\n*]+?)(?<=\S)\*\*")
_SOFT = re.compile(r"(?<![\w*])\*(?=\S)([^\n*]+?)(?<=\S)\*(?![\w*])")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.M)
_HELD = re.compile("\x00(\\d+)\x00")
PRIVATE = "private"
log = logging.getLogger(__name__)
POLL_SECONDS = 25
TYPING_SECONDS, MAX_TYPING_REPEATS = 4.5, 20
ALLOWED_UPDATES = ["message", "edited_message"]
SECRET_HEADER = "x-telegram-bot-api-secret-token"
# Says "a channel" among advisory locks; the second number is its name.
LOCK_CLASS = 0x4348
LOCK_POLL_SECONDS = 5


def chunks(text: str, *, longest: int = MAX_MESSAGE_LENGTH) -> list[str]:
    """The text in parts that Telegram takes: cut at the end of a line, else of a word."""
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


def as_html(text: str) -> str:
    """The little markdown that models write, as the HTML that Telegram understands."""
    held: list[str] = []

    def hold(tag: str) -> Callable[[re.Match], str]:
        def keep(found: re.Match) -> str:
            held.append(f"<{tag}>{html.escape(found[1], quote=False)}</{tag}>")
            return f"\x00{len(held) - 1}\x00"

        return keep

    bare = text.replace("\x00", "")
    bare = _CODE.sub(hold("code"), _BLOCK.sub(hold("pre"), bare))
    safe = html.escape(bare, quote=False)
    safe = _LINK.sub(lambda found: f'<a href="{html.escape(found[2])}">{found[1]}</a>', safe)
    safe = _SOFT.sub(r"<i>\1</i>", _STRONG.sub(r"<b>\1</b>", _HEADING.sub(r"<b>\1</b>", safe)))
    return _HELD.sub(lambda found: held[int(found[1])], safe)


def without_mention(text: str, *, bot: str) -> str:
    """What was said, without calling the bot by its name at either end."""
    name = re.escape(bot)
    said = re.sub(rf"^\s*@{name}\b[\s,:]*", "", text, flags=re.I)
    return re.sub(rf"[\s,]*@{name}\b\s*([?!.…]*)\s*$", r"\1", said, flags=re.I).strip()


def mentions(text: str, *, bot: str) -> bool:
    return bool(bot) and bool(re.search(rf"(?<![\w@])@{re.escape(bot)}\b", text, re.I))


def is_for_another_bot(text: str, *, bot: str) -> bool:
    """A command for another bot of the group: /why@OtherBot."""
    found = re.match(r"/[\w-]+@(\w+)", text)
    return bool(found) and found[1].lower() != bot.lower()


@dataclass(frozen=True)
class IncomingMessage:
    """One thing that somebody said to the bot."""

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
    # Who wrote it, when it was only passed on: "" when that is hidden, None when it is their own.
    origin: str | None = None
    # Something came that we cannot read, such as a voice message without words.
    unreadable: bool = False
    raw_chat: int = field(default=0)


def parse_update(update: Update, *, bot: str, bot_id: int) -> IncomingMessage | None:
    """What was said to the bot; None when it was not meant for it."""
    message = update.message or update.edited_message
    if message is None or message.from_user is None or message.from_user.id == bot_id:
        return None
    text = message.text or message.caption or ""
    spoken = bool(message.voice or message.audio or message.video_note)
    if is_for_another_bot(text, bot=bot) or not _is_for_bot(message, text, bot, bot_id):
        return None
    words = without_mention(text, bot=bot) if bot else text
    origin = _origin(message)
    return IncomingMessage(
        chat=chat_id_of(message),
        person=str(message.from_user.id),
        author=message.from_user.full_name,
        # What was passed on commands nothing.
        text=f"↪ {words}" if origin is not None and words.startswith("/") else words,
        origin=origin,
        external_id=str(message.message_id),
        sent_at=message.date,
        trace="voice" if spoken else "text",
        title=message.chat.title or message.from_user.full_name,
        thread=str(message.message_thread_id or "") if message.is_topic_message else "",
        edited=update.edited_message is not None,
        unreadable=not words,
        raw_chat=message.chat.id,
    )


def chat_id_of(message: Message) -> str:
    """The chat's id; a topic of a forum is a chat of its own."""
    topic = message.message_thread_id if message.is_topic_message else None
    return f"{message.chat.id}_{topic}" if topic else str(message.chat.id)


def split_chat_id(chat_id: str) -> tuple[int, int | None]:
    """Split the id into the chat and its topic."""
    chat, _, topic = chat_id.partition("_")
    return int(chat), int(topic) if topic else None


def _origin(message: Message) -> str | None:
    """Who wrote a forwarded message; what people pass on of themselves is their own."""
    origin = message.forward_origin
    if origin is None:
        return None
    user = getattr(origin, "sender_user", None)
    if user is not None and user.id == message.from_user.id:
        return None
    chat = getattr(origin, "sender_chat", None) or getattr(origin, "chat", None)
    hidden = getattr(origin, "sender_user_name", "")
    return user.full_name if user else (chat.effective_name or "") if chat else hidden


def _is_for_bot(message: Message, text: str, bot: str, bot_id: int) -> bool:
    if message.chat.type == PRIVATE or text.startswith("/"):
        return True
    answered = message.reply_to_message
    is_answer = bool(answered and answered.from_user and answered.from_user.id == bot_id)
    return is_answer or mentions(text, bot=bot)


class TelegramChannel(Channel):
    name = "telegram"

    def __init__(self, *, token: str = "", allow: AllowList | None = None):
        base = settings.TELEGRAM_BASE_URL
        # Durations as timedelta, as the library's next version will have them.
        os.environ.setdefault("PTB_TIMEDELTA", "1")
        self.bot = telegram.Bot(
            token or connections.value("TELEGRAM_BOT_TOKEN"),
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=HTTPXRequest(connection_pool_size=8, read_timeout=20),
            get_updates_request=HTTPXRequest(read_timeout=POLL_SECONDS + 10),
        )
        people = connections.value("TELEGRAM_ALLOWED_USERS").split(",")
        self.allow = allow or AllowList.of(filter(None, people), settings.TELEGRAM_ALLOWED_CHAT_IDS)
        self.limits = RateLimit(settings.LIMIT_PER_MINUTE, settings.LIMIT_PER_HOUR)
        self.me: telegram.User | None = None
        # How many parts of a long message got through before one did not.
        self._sent: dict[str, int] = {}
        self._typing: dict[int, asyncio.Task] = {}

    async def run(self, space: Space | None, stop: asyncio.Event) -> None:
        space = await home(space, stop)
        # Telegram talks to one listener at a time: the others wait until it is gone.
        async with hold_leadership(self.name, stop) as leads:
            if not leads:
                return
            await self.bot.initialize()
            try:
                self.me = await self.bot.get_me()
                await (self._serve if settings.TELEGRAM_WEBHOOK_URL else self._poll)(space, stop)
            finally:
                for task in self._typing.values():
                    task.cancel()
                await self.bot.shutdown()

    async def send(self, outgoing: Outgoing) -> str:
        chat, topic = split_chat_id(outgoing.chat.external_id)
        parts = chunks(outgoing.text)
        key, last = f"{chat}/{outgoing.key}", ""
        for n in range(self._sent.get(key, 0), len(parts)):
            last = await self._send(chat, topic, parts[n], reply_to="" if n else outgoing.reply_to)
            self._sent[key] = n + 1
        self._sent.pop(key, None)
        return last

    async def typing(self, chat: Chat) -> None:
        where, topic = split_chat_id(chat.external_id)
        await self.bot.send_chat_action(where, ChatAction.TYPING, message_thread_id=topic)

    async def take(self, space: Space, update: telegram.Update) -> None:
        """Let somebody in, or not; what they said becomes a message that is answered."""
        incoming = parse_update(update, bot=self.me.username or "", bot_id=self.me.id)
        if incoming is None:
            return
        known = self.allow.lets_in(person=incoming.person, chat=incoming.raw_chat)
        if not known and not await sync_to_async(self._is_invited)(space, incoming):
            log.warning(
                "not on the list", extra={"person": incoming.person, "where": incoming.chat}
            )
            return
        if not self.limits.allow(incoming.person, now=timezone.now()):
            log.warning("over the limit", extra={"person": incoming.person})
            return
        if incoming.unreadable:
            await self._send(incoming.raw_chat, None, _unreadable(), reply_to=incoming.external_id)
            return
        message = await sync_to_async(_receive)(space, incoming)
        if message is not None:
            self._show_typing(message.chat)

    def _is_invited(self, space: Space, incoming: IncomingMessage) -> bool:
        """Whether a member brought them in: by a code that is open now, or by one before."""
        code = incoming.text.removeprefix("/link").strip()
        if not self.limits.allow(incoming.person, now=timezone.now()):
            return False
        linked = chat_links.is_linked(space, channel=self.name, author_id=incoming.person)
        return linked or chat_links.is_open(space, code=code)

    async def _poll(self, space: Space, stop: asyncio.Event) -> None:
        await self.bot.delete_webhook()
        offset = None
        while not stop.is_set():
            asking = asyncio.create_task(
                self.bot.get_updates(offset, timeout=POLL_SECONDS, allowed_updates=ALLOWED_UPDATES)
            )
            updates = await _or_stop(stop, asking)
            for update in updates or ():
                await self.take(space, update)
                # Only what is safely stored is taken off Telegram's list.
                offset = update.update_id + 1
        if offset is not None:
            await self.bot.get_updates(offset, timeout=0, limit=1, allowed_updates=[])

    async def _serve(self, space: Space, stop: asyncio.Event) -> None:
        secret = settings.TELEGRAM_WEBHOOK_SECRET
        if not secret:
            raise RuntimeError("A webhook without TELEGRAM_WEBHOOK_SECRET is never opened.")

        async def called(request: Request) -> Response:
            given = request.headers.get(SECRET_HEADER, "")
            if not secrets.compare_digest(given.encode(), secret.encode()):
                return Response(401, {"error": "The secret token is missing or wrong."})
            try:
                update = telegram.Update.de_json(request.json(), self.bot)
            except (ValueError, KeyError, TypeError, AttributeError):
                return Response(400, {"error": "This is no update of Telegram."})
            await self.take(space, update)
            return Response(200, {})

        host, port = settings.TELEGRAM_WEBHOOK_HOST, settings.TELEGRAM_WEBHOOK_PORT
        async with serving.serve(called, host=host, port=port):
            await self.bot.set_webhook(
                settings.TELEGRAM_WEBHOOK_URL, secret_token=secret, allowed_updates=ALLOWED_UPDATES
            )
            await stop.wait()

    async def _send(self, chat: int, topic: int | None, text: str, *, reply_to: str = "") -> str:
        given = {"message_thread_id": topic, "link_preview_options": NO_PREVIEW}
        if reply_to.isdigit() and chat < 0:
            given["reply_parameters"] = telegram.ReplyParameters(
                int(reply_to), allow_sending_without_reply=True
            )
        try:
            return await self._send_nicely(chat, text, given)
        except ChatMigrated as moved:
            return await self._send(moved.new_chat_id, topic, text)
        except RetryAfter as wait:
            raise SendFailed(str(wait), retry_after=wait.retry_after.total_seconds()) from wait
        except (Forbidden, BadRequest) as error:
            raise SendFailed(str(error), permanent=True) from error
        except telegram.error.TelegramError as error:
            raise SendFailed(str(error)) from error

    async def _send_nicely(self, chat: int, text: str, given: dict) -> str:
        nice = as_html(text)
        try:
            sent = await self.bot.send_message(chat, nice, parse_mode=ParseMode.HTML, **given)
        except BadRequest as error:
            if "parse" not in str(error).lower() and "too long" not in str(error).lower():
                raise
            sent = await self.bot.send_message(chat, text, **given)
        return str(sent.message_id)

    def _show_typing(self, chat: Chat) -> None:
        if chat.pk not in self._typing or self._typing[chat.pk].done():
            self._typing[chat.pk] = asyncio.create_task(self._keep_typing(chat))

    async def _keep_typing(self, chat: Chat) -> None:
        for _time in range(MAX_TYPING_REPEATS):
            if not await sync_to_async(inbox.unanswered(chat.pk).exists)():
                return
            try:
                await self.typing(chat)
            except telegram.error.TelegramError:
                return  # it is only a nicety
            await asyncio.sleep(TYPING_SECONDS)


def _receive(space: Space, incoming: IncomingMessage):
    given = {"title": incoming.title, "thread": incoming.thread}
    chat = chats.find_or_open(space, channel="telegram", external_id=incoming.chat, **given)
    pause = settings.TELEGRAM_DEBOUNCE_MS
    act = inbox.edit if incoming.edited else inbox.receive
    return act(
        chat,
        text=incoming.text,
        external_id=incoming.external_id,
        author=incoming.author,
        author_id=incoming.person,
        trace=incoming.trace,
        origin=incoming.origin,
        sent_at=incoming.sent_at,
        silence=None if pause < 0 else pause / 1000,
    )


async def _or_stop(stop: asyncio.Event, asking: asyncio.Task):
    """The answer; None when we are told to stop first, or when the network fails."""
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not asking.done():
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        return None
    try:
        return asking.result()
    except NetworkError as error:
        log.warning("telegram does not answer", extra={"why": str(error)})
        await asyncio.sleep(1)
        return None


def _unreadable() -> str:
    return _("I can read only text. Please write it, or add a caption.")


class LeadershipLost(Exception):
    """The connection that held the lock is gone; another process may lead now."""


@asynccontextmanager
async def hold_leadership(name: str, stop: asyncio.Event) -> AsyncIterator[bool]:
    """Wait until no other process leads; False when told to stop before that.

    When the connection breaks, so does what runs inside: the lock is gone with it.
    """
    params = connection.get_connection_params()
    params.pop("cursor_factory", None)
    params.pop("context", None)
    async with await psycopg.AsyncConnection.connect(**params, autocommit=True) as held:
        while not await _try_lock(held, name):
            if stop.is_set():
                yield False
                return
            await _sleep(stop)
        watching = asyncio.create_task(_watch(held, asyncio.current_task()))
        try:
            yield True
        except asyncio.CancelledError as cancelled:
            if watching.done():
                raise LeadershipLost from cancelled
            raise
        finally:
            watching.cancel()


async def _try_lock(held: psycopg.AsyncConnection, name: str) -> bool:
    number = zlib.crc32(name.encode()) & 0x7FFFFFFF
    row = await held.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK_CLASS, number])
    return (await row.fetchone())[0]


async def _watch(held: psycopg.AsyncConnection, leader: asyncio.Task) -> None:
    while True:
        await asyncio.sleep(LOCK_POLL_SECONDS)
        try:
            await held.execute("SELECT 1")
        except psycopg.Error:
            log.warning("lost the lead: the database went away")
            leader.cancel()
            return


async def _sleep(stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(LOCK_POLL_SECONDS):
            await stop.wait()
    except TimeoutError:
        return
