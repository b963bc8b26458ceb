"""Talk to other programs by signed HTTP: POST /webhook, answered at once or by a callback."""

import asyncio
import json
import time
from functools import partial
from typing import Any

import httpx
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone
from starlette.responses import JSONResponse

from bot.channels import http_server
from bot.channels.base import Channel, Outgoing, SendFailed, wait_for_space
from bot.channels.http_server import Request, answer
from memory.chats import inbox
from memory.chats import service as chats
from memory.jobs import RateLimit
from memory.models import Chat, Message, OutboxItem, Space


class HttpChannel(Channel):
    name = "http"

    def __init__(self, *, secret: str = "", port: int | None = None):
        self.secret = secret or settings.WEBHOOK_SECRET
        self.port = settings.HTTP_PORT if port is None else port
        self.limits = RateLimit(settings.LIMIT_PER_MINUTE, settings.LIMIT_PER_HOUR)

    async def run(self, space: Space | None, stop: asyncio.Event) -> None:
        if not self.secret:
            raise RuntimeError("The HTTP channel never opens without WEBHOOK_SECRET.")
        space = await wait_for_space(space, stop)

        handle = partial(self.handle, space=space)
        async with http_server.serve(handle, host=settings.HTTP_HOST, port=self.port) as port:
            self.port = port
            await stop.wait()

    async def handle(self, request: Request, space: Space) -> JSONResponse:
        if request.path == "/health" and request.method == "GET":
            return answer(200, {"status": "ok"})
        if request.path != "/webhook":
            return answer(404, {"error": "There is only POST /webhook here."})
        if request.method != "POST":
            return answer(405, {"error": "Send a POST."})
        signed: dict[str, Any] = {"headers": request.headers, "body": request.body}
        signature = http_server.check(self.secret, **signed, now=time.time())
        fields = http_server.parse_message(request)
        if fields["callback"]:
            private = settings.HTTP_CALLBACK_PRIVATE
            await http_server.check_callback(fields["callback"], private=private)
        return await self._receive(space, fields, signature=signature)

    async def _receive(self, space: Space, fields: dict, *, signature: str) -> JSONResponse:
        now = timezone.now()
        if not self.limits.allow(fields["author_id"], now=now):
            many = {"error": "Too many messages of this author. Try again later."}
            return answer(429, many, after=self.limits.wait(fields["author_id"], now=now))
        store = partial(http_server.store_message, signature=signature)
        try:
            message = await sync_to_async(store)(space, fields)
        except chats.BadChatId as error:
            return answer(400, {"error": str(error)})
        if fields["callback"]:
            return answer(202, {"status": "accepted", "id": message.pk})
        reply = await http_server.wait_for(message, seconds=settings.HTTP_TIMEOUT)
        if reply is None:
            late = "No answer in time. It is kept; ask again with the same id."
            return answer(408, {"error": late, "id": message.pk})
        return answer(200, {"response": reply, "status": "ok", "id": message.pk})

    async def send(self, outgoing: Outgoing) -> str:
        """Call the callbacks; a program that waits for its answer reads the row instead."""
        values = {
            "chat_id": outgoing.chat.external_id,
            "response": outgoing.text,
            "kind": outgoing.kind,
            "key": outgoing.key,
        }
        body = json.dumps(values, ensure_ascii=False).encode()
        for url in await sync_to_async(_callbacks)(outgoing):
            await call(url, body=body, secret=self.secret, label=http_server.REPLY)
        return ""


async def call(url: str, *, body: bytes, secret: str, label: bytes = b"") -> int:
    """Send it, signed, to somebody else's URL; return the status or raise SendFailed."""
    headers = http_server.sign(secret, body=body, at=time.time(), label=label)
    private = settings.HTTP_CALLBACK_PRIVATE
    try:
        status = await http_server.post(url, body=body, headers=headers, private=private)
    except http_server.CallbackRefused as error:
        raise SendFailed(str(error), permanent=True) from error
    except httpx.HTTPError as error:
        raise SendFailed(f"The callback does not answer ({type(error).__name__}).") from error
    if status >= 300:
        gone = status in (401, 403, 404, 410) or 300 <= status < 400
        raise SendFailed(f"The callback answered {status}.", permanent=gone)
    return status


def _callbacks(outgoing: Outgoing) -> list[str]:
    chat: Chat = outgoing.chat
    item = OutboxItem.objects.select_related("message").get(chat=chat, key=outgoing.key)
    if item.message is None:
        messages = inbox.unanswered(chat.pk)
    else:
        # All that was answered by this reply.
        messages = Message.objects.filter(chat=chat, handled_at=item.message.sent_at)
    lines = [line for journal in messages.values_list("journal", flat=True) for line in journal]
    urls = [line["url"] for line in lines if line.get("outcome") == http_server.CALLBACK]
    return list(dict.fromkeys(urls))
