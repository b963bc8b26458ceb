"""Other programs, by signed HTTP requests: POST /webhook, answered at once or by a callback."""

import asyncio
import hashlib
import json
import logging
import time

import httpx
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from bot.admission import Turnstile
from bot.channels import calling, serving, signing
from bot.channels.base import Channel, Outgoing, SendFailed, home
from bot.channels.serving import Request, Response
from memory import chats, inbox
from memory.models import Chat, Message, OutboxItem, Space

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
TRACES = ("text", "voice")
CALLBACK = "callback"


class BadRequest(Exception):
    """A request that is signed but cannot be understood, with what is wrong."""


class HttpChannel(Channel):
    name = "http"

    def __init__(self, *, secret: str = "", port: int | None = None):
        self.secret = secret or settings.WEBHOOK_SECRET
        self.port = settings.HTTP_PORT if port is None else port
        self.limits = Turnstile(settings.LIMIT_PER_MINUTE, settings.LIMIT_PER_HOUR)

    async def run(self, space: Space | None, stop: asyncio.Event) -> None:
        if not self.secret:
            raise RuntimeError("The HTTP channel never opens without WEBHOOK_SECRET.")
        space = await home(space, stop)

        async def called(request: Request) -> Response:
            return await self.handle(request, space)

        async with serving.serve(called, host=settings.HTTP_HOST, port=self.port) as server:
            self.port = server.sockets[0].getsockname()[1]
            await stop.wait()

    async def handle(self, request: Request, space: Space) -> Response:
        if request.path == "/health" and request.method == "GET":
            return Response(200, {"status": "ok"})
        if request.path != "/webhook":
            return Response(404, {"error": "There is only POST /webhook here."})
        if request.method != "POST":
            return Response(405, {"error": "Send a POST."})
        try:
            now = time.time()
            mark = signing.check(self.secret, headers=request.headers, body=request.body, now=now)
            said = understand(request)
        except signing.BadSignature as bad:
            return Response(401, {"error": str(bad)})
        except BadRequest as bad:
            return Response(400, {"error": str(bad)})
        return await self._take(space, said, mark=mark)

    async def _take(self, space: Space, said: dict, *, mark: str) -> Response:
        if not self.limits.lets_through(said["author_id"], now=timezone.now()):
            return Response(429, {"error": "Too many messages of this author. Try again later."})
        try:
            message = await sync_to_async(_keep)(space, said, mark=mark)
        except chats.BadChatId as bad:
            return Response(400, {"error": str(bad)})
        if said["callback"]:
            return Response(202, {"status": "accepted", "id": message.pk})
        reply = await _wait_for(message, seconds=settings.HTTP_TIMEOUT)
        if reply is None:
            late = "No answer in time. It is kept; ask again with the same id."
            return Response(408, {"error": late, "id": message.pk})
        return Response(200, {"response": reply, "status": "ok", "id": message.pk})

    async def send(self, outgoing: Outgoing) -> str:
        """Who waits reads the row; whoever gave a callback is called."""
        for url in await sync_to_async(_callbacks)(outgoing):
            await self._call(url, outgoing)
        return ""

    async def _call(self, url: str, outgoing: Outgoing) -> None:
        body = json.dumps(
            {
                "chat_id": outgoing.chat.external_id,
                "response": outgoing.text,
                "kind": outgoing.kind,
                "key": outgoing.key,
            },
            ensure_ascii=False,
        ).encode()
        headers = signing.sign(self.secret, body=body, at=time.time())
        private = settings.HTTP_CALLBACK_PRIVATE
        try:
            status = await calling.post(url, body=body, headers=headers, private=private)
        except calling.NotAllowed as error:
            raise SendFailed(str(error), permanent=True) from error
        except httpx.HTTPError as error:
            raise SendFailed(f"The callback does not answer ({type(error).__name__}).") from error
        if status >= 300:
            gone = status in (401, 403, 404, 410) or 300 <= status < 400
            raise SendFailed(f"The callback answered {status}.", permanent=gone)


def understand(request: Request) -> dict:
    """The fields of a message, with defaults; BadRequest with a sentence."""
    try:
        body = request.json()
    except ValueError as error:
        raise BadRequest("The body is no JSON.") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.")
    text = body.get("message", body.get("text"))
    if not isinstance(text, str) or not text.strip():
        raise BadRequest("The message field is missing or no text.")
    said = {"text": text}
    for name, default in (
        ("chat_id", "main"),
        ("author", ""),
        ("author_id", ""),
        ("id", ""),
        ("trace", "text"),
        ("callback", ""),
    ):
        value = body.get(name, default)
        if not isinstance(value, str | int) or isinstance(value, bool) or len(str(value)) > 2000:
            raise BadRequest(f"The field {name} must be a short text.")
        said[name] = str(value)
    if said["trace"] not in TRACES:
        raise BadRequest("The field trace is text or voice.")
    if said["callback"]:
        try:
            calling.parse(said["callback"])
        except calling.NotAllowed as error:
            raise BadRequest(str(error)) from error
    return said


def _keep(space: Space, said: dict, *, mark: str) -> Message:
    """The row of this message; the same request, or the same id, again is the same row."""
    chat = chats.find_or_open(space, channel="http", external_id=said["chat_id"])
    name = f"id-{said['id']}" if said["id"] else f"signed-{mark}"
    external_id = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
    notes = [{"outcome": CALLBACK, "url": said["callback"]}] if said["callback"] else []
    taken = inbox.take(
        chat,
        text=said["text"],
        external_id=external_id,
        author=said["author"],
        author_id=said["author_id"],
        trace=said["trace"],
        silence=0,
        journal=notes,
    )
    return taken or Message.objects.get(chat=chat, external_id=external_id)


async def _wait_for(message: Message, *, seconds: float) -> str | None:
    """What was answered, by whichever process; None when that takes too long."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                reply = await sync_to_async(_reply)(message)
                if reply is not None:
                    return reply
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        return None


def _reply(message: Message) -> str | None:
    handled = Message.objects.filter(pk=message.pk).values_list("handled_at", flat=True).first()
    if handled is None:
        return None
    sent = OutboxItem.objects.filter(
        chat=message.chat_id, message__reply_to__gte=message.pk, message__sent_at=handled
    )
    return sent.order_by("pk").values_list("text", flat=True).first() or ""


def _callbacks(outgoing: Outgoing) -> list[str]:
    chat: Chat = outgoing.chat
    item = OutboxItem.objects.select_related("message").get(chat=chat, key=outgoing.key)
    if item.message is None:
        asked = inbox.waiting(chat.pk)
    else:
        # All that was answered by this reply.
        asked = Message.objects.filter(chat=chat, handled_at=item.message.sent_at)
    lines = [line for journal in asked.values_list("journal", flat=True) for line in journal]
    urls = [line["url"] for line in lines if line.get("outcome") == CALLBACK]
    return list(dict.fromkeys(urls))
