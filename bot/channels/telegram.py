"""Telegram: long polling, or a webhook that only Telegram can call."""

import asyncio
import logging
import os
import secrets

import telegram
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from telegram.constants import ChatAction, ParseMode
from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter
from telegram.request import HTTPXRequest

from bot.admission import AllowList
from bot.channels import (
    http_server as serving,
)
from bot.channels import (
    leader_lock as leading,
)
from bot.channels import (
    telegram_text,
    telegram_updates,
)
from bot.channels.base import Channel, Outgoing, SendFailed, home
from bot.channels.http_server import Request, Response
from bot.channels.telegram_updates import IncomingMessage
from memory.chats import inbox
from memory.chats import service as chats
from memory.models import Chat, Space
from memory.queue.rate_limit import RateLimit

log = logging.getLogger(__name__)

POLL_SECONDS = 25
TYPING_SECONDS, MAX_TYPING_REPEATS = 4.5, 20
ALLOWED_UPDATES = ["message", "edited_message"]
SECRET_HEADER = "x-telegram-bot-api-secret-token"


class TelegramChannel(Channel):
    name = "telegram"

    def __init__(self, *, token: str = "", allow: AllowList | None = None):
        base = settings.TELEGRAM_BASE_URL
        # Durations as timedelta, as the library's next version will have them.
        os.environ.setdefault("PTB_TIMEDELTA", "1")
        self.bot = telegram.Bot(
            token or settings.TELEGRAM_BOT_TOKEN,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=HTTPXRequest(connection_pool_size=8, read_timeout=20),
            get_updates_request=HTTPXRequest(read_timeout=POLL_SECONDS + 10),
        )
        self.allow = allow or AllowList.of(
            settings.TELEGRAM_ALLOWED_USERS, settings.TELEGRAM_ALLOWED_CHAT_IDS
        )
        self.limits = RateLimit(settings.LIMIT_PER_MINUTE, settings.LIMIT_PER_HOUR)
        self.me: telegram.User | None = None
        # How many parts of a long message got through before one did not.
        self._sent: dict[str, int] = {}
        self._typing: dict[int, asyncio.Task] = {}

    async def run(self, space: Space | None, stop: asyncio.Event) -> None:
        space = await home(space, stop)
        # Telegram talks to one listener at a time: the others wait until it is gone.
        async with leading.hold_leadership(self.name, stop) as leads:
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
        chat, topic = telegram_updates.split_chat_id(outgoing.chat.external_id)
        parts = telegram_text.chunks(outgoing.text)
        key, last = f"{chat}/{outgoing.key}", ""
        for n in range(self._sent.get(key, 0), len(parts)):
            last = await self._send(chat, topic, parts[n], reply_to="" if n else outgoing.reply_to)
            self._sent[key] = n + 1
        self._sent.pop(key, None)
        return last

    async def typing(self, chat: Chat) -> None:
        where, topic = telegram_updates.split_chat_id(chat.external_id)
        await self.bot.send_chat_action(where, ChatAction.TYPING, message_thread_id=topic)

    async def take(self, space: Space, update: telegram.Update) -> None:
        """Let somebody in, or not; what they said becomes a message that is answered."""
        incoming = telegram_updates.parse_update(
            update, bot=self.me.username or "", bot_id=self.me.id
        )
        if incoming is None:
            return
        if not self.allow.lets_in(person=incoming.person, chat=incoming.raw_chat):
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
        given = {"message_thread_id": topic}
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
        nice = telegram_text.as_html(text)
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
