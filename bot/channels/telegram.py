"""Telegram: long polling, or a webhook that only Telegram can call."""

import asyncio
import html
import logging
import os
import re
import secrets
from collections.abc import Callable
from typing import Any

import telegram
from django.conf import settings
from starlette.responses import JSONResponse
from telegram import Message, Update
from telegram.constants import ChatAction, ParseMode
from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter
from telegram.request import HTTPXRequest

from bot.channels import base, http_server
from bot.channels.base import IncomingMessage, Outgoing, SendFailed
from bot.channels.http_server import Request, answer
from memory.models import Chat, Space
from memory.spaces import connections

MAX_MESSAGE_LENGTH = 4000
NO_PREVIEW = telegram.LinkPreviewOptions(is_disabled=True)
_BLOCK = re.compile(r"```(?:\w+\n)?(.*?)```", re.S)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\((https?://[^\s)]{1,1000})\)")
_STRONG = re.compile(r"\*\*(?=\S)([^\n*]+?)(?<=\S)\*\*")
_SOFT = re.compile(r"(?<![\w*])\*(?=\S)([^\n*]+?)(?<=\S)\*(?![\w*])")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.M)
_TAKEN_OUT = re.compile("\x00(\\d+)\x00")
PRIVATE = "private"
log = logging.getLogger(__name__)
POLL_SECONDS = 25
ALLOWED_UPDATES = ["message", "edited_message"]
SECRET_HEADER = "x-telegram-bot-api-secret-token"


def as_html(text: str) -> str:
    """Turn the little Markdown that models write into the HTML that Telegram understands."""
    code: list[str] = []

    def take_out(tag: str) -> Callable[[re.Match], str]:
        def keep(match: re.Match) -> str:
            code.append(f"<{tag}>{html.escape(match[1], quote=False)}</{tag}>")
            return f"\x00{len(code) - 1}\x00"

        return keep

    bare = text.replace("\x00", "")
    bare = _CODE.sub(take_out("code"), _BLOCK.sub(take_out("pre"), bare))
    safe = html.escape(bare, quote=False)
    safe = _LINK.sub(lambda match: f'<a href="{html.escape(match[2])}">{match[1]}</a>', safe)
    safe = _SOFT.sub(r"<i>\1</i>", _STRONG.sub(r"<b>\1</b>", _HEADING.sub(r"<b>\1</b>", safe)))
    return _TAKEN_OUT.sub(lambda match: code[int(match[1])], safe)


def without_mention(text: str, *, bot: str) -> str:
    """Take the name of the bot away from either end."""
    name = re.escape(bot)
    text = re.sub(rf"^\s*@{name}\b[\s,:]*", "", text, flags=re.I)
    return re.sub(rf"[\s,]*@{name}\b\s*([?!.…]*)\s*$", r"\1", text, flags=re.I).strip()


def parse_update(update: Update, *, bot: str, bot_id: int) -> IncomingMessage | None:
    """Return the message to the bot; None when it was not meant for it."""
    message = update.message or update.edited_message
    if message is None or message.from_user is None or message.from_user.id == bot_id:
        return None
    text = message.text or message.caption or ""
    spoken = bool(message.voice or message.audio or message.video_note)
    if not _is_for_bot(message, text, bot, bot_id):
        return None
    words = without_mention(text, bot=bot) if bot else text
    origin = _origin(message)
    # A topic of a forum is a chat of its own.
    topic = message.message_thread_id if message.is_topic_message else None
    return IncomingMessage(
        chat=f"{message.chat.id}_{topic}" if topic else str(message.chat.id),
        person=str(message.from_user.id),
        author=message.from_user.full_name,
        # A forwarded message is never a command.
        text=f"↪ {words}" if origin is not None and words.startswith("/") else words,
        origin=origin,
        external_id=str(message.message_id),
        sent_at=message.date,
        trace="voice" if spoken else "text",
        title=message.chat.title or message.from_user.full_name,
        thread=str(topic or ""),
        edited=update.edited_message is not None,
        unreadable=not words,
        place=str(message.chat.id),
    )


def split_chat_id(chat_id: str) -> tuple[int, int | None]:
    chat, _, topic = chat_id.partition("_")
    return int(chat), int(topic) if topic else None


def _origin(message: Message) -> str | None:
    """Return who wrote a forwarded message; None for one's own words."""
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
    # A command may name another bot of the group: /why@OtherBot.
    command = re.match(r"/[\w-]+@(\w+)", text)
    if command and command[1].lower() != bot.lower():
        return False
    if message.chat.type == PRIVATE or text.startswith("/"):
        return True
    answered = message.reply_to_message
    if answered and answered.from_user and answered.from_user.id == bot_id:
        return True
    return bool(bot and re.search(rf"(?<![\w@])@{re.escape(bot)}\b", text, re.I))


class TelegramChannel(base.ListeningChannel):
    name = "telegram"

    def __init__(self, *, token: str = "", allow: base.AllowList | None = None):
        url = settings.TELEGRAM_BASE_URL
        # Durations as timedelta, as the library's next version will have them.
        os.environ.setdefault("PTB_TIMEDELTA", "1")
        self.bot = telegram.Bot(
            token or connections.value("TELEGRAM_BOT_TOKEN"),
            base_url=f"{url}/bot",
            base_file_url=f"{url}/file/bot",
            request=HTTPXRequest(connection_pool_size=8, read_timeout=20),
            get_updates_request=HTTPXRequest(read_timeout=POLL_SECONDS + 10),
        )
        people = connections.value("TELEGRAM_ALLOWED_USERS").split(",")
        usual = base.AllowList(filter(None, people), settings.TELEGRAM_ALLOWED_CHAT_IDS)
        super().__init__(allow or usual)
        pause = settings.TELEGRAM_DEBOUNCE_MS
        self.silence = None if pause < 0 else pause / 1000
        self.me: telegram.User | None = None
        # How many parts of a long message got through before one did not.
        self._sent: dict[str, int] = {}

    async def run(self, space: Space | None, stop: asyncio.Event) -> None:
        space = await base.wait_for_space(space, stop)
        # Telegram talks to one listener at a time: the others wait until it is gone.
        async with base.hold_leadership(self.name, stop) as leads:
            if not leads:
                return
            await self.bot.initialize()
            try:
                self.me = await self.bot.get_me()
                await (self._serve if settings.TELEGRAM_WEBHOOK_URL else self._poll)(space, stop)
            finally:
                self.stop_typing()
                await self.bot.shutdown()

    async def send(self, outgoing: Outgoing) -> str:
        chat, topic = split_chat_id(outgoing.chat.external_id)
        parts = base.chunks(outgoing.text, longest=MAX_MESSAGE_LENGTH)
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
        incoming = parse_update(update, bot=self.me.username or "", bot_id=self.me.id)
        if incoming is not None:
            await self.hear(space, incoming)

    async def tell(self, incoming: IncomingMessage, text: str) -> None:
        await self._send(int(incoming.place), None, text, reply_to=incoming.external_id)

    async def _poll(self, space: Space, stop: asyncio.Event) -> None:
        await self.bot.delete_webhook()
        offset = None
        while not stop.is_set():
            asking = asyncio.create_task(
                self.bot.get_updates(offset, timeout=POLL_SECONDS, allowed_updates=ALLOWED_UPDATES)
            )
            updates = await _unless_stopped(stop, asking)
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

        async def handle(request: Request) -> JSONResponse:
            header = request.headers.get(SECRET_HEADER, "")
            if not secrets.compare_digest(header.encode(), secret.encode()):
                return answer(401, {"error": "The secret token is missing or wrong."})
            try:
                update = telegram.Update.de_json(request.json(), self.bot)
            except (ValueError, KeyError, TypeError, AttributeError):
                return answer(400, {"error": "This is no update of Telegram."})
            await self.take(space, update)
            return answer(200, {})

        host, port = settings.TELEGRAM_WEBHOOK_HOST, settings.TELEGRAM_WEBHOOK_PORT
        async with http_server.serve(handle, host=host, port=port):
            await self.bot.set_webhook(
                settings.TELEGRAM_WEBHOOK_URL, secret_token=secret, allowed_updates=ALLOWED_UPDATES
            )
            await stop.wait()

    async def _send(self, chat: int, topic: int | None, text: str, *, reply_to: str = "") -> str:
        options: dict[str, Any] = {"message_thread_id": topic, "link_preview_options": NO_PREVIEW}
        if reply_to.isdigit() and chat < 0:
            options["reply_parameters"] = telegram.ReplyParameters(
                int(reply_to), allow_sending_without_reply=True
            )
        try:
            return await self._send_formatted(chat, text, options)
        except ChatMigrated as moved:
            return await self._send(moved.new_chat_id, topic, text)
        except RetryAfter as wait:
            raise SendFailed(str(wait), retry_after=wait.retry_after.total_seconds()) from wait
        except (Forbidden, BadRequest) as error:
            raise SendFailed(str(error), permanent=True) from error
        except telegram.error.TelegramError as error:
            raise SendFailed(str(error)) from error

    async def _send_formatted(self, chat: int, text: str, options: dict) -> str:
        try:
            nice = as_html(text)
            sent = await self.bot.send_message(chat, nice, parse_mode=ParseMode.HTML, **options)
        except BadRequest as error:
            if "parse" not in str(error).lower() and "too long" not in str(error).lower():
                raise
            sent = await self.bot.send_message(chat, text, **options)
        return str(sent.message_id)


async def _unless_stopped(stop: asyncio.Event, asking: asyncio.Task):
    """Return the answer; None when told to stop first, or when the network fails."""
    await base.first_done(asyncio.wait({asking}), stop.wait())
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
