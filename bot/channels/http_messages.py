"""A message that another program posts as JSON: understood, kept once, waited for."""

import asyncio
import hashlib

from asgiref.sync import sync_to_async

from bot.channels import callbacks
from bot.channels.http_server import Request
from memory.chats import inbox
from memory.chats import service as chats
from memory.models import Message, OutboxItem, Space

POLL_SECONDS = 0.1
TRACES = ("text", "voice")
CALLBACK = "callback"


class BadRequest(Exception):
    """A request of somebody who may call that cannot be understood, with what is wrong."""


def json_object(request: Request) -> dict:
    """The JSON object of the body."""
    try:
        body = request.json()
    except ValueError as error:
        raise BadRequest("The body is no JSON.") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.")
    return body


def parse_message(request: Request, *, field: str = "message") -> dict:
    """The fields of a message, with defaults; BadRequest with a sentence."""
    body = json_object(request)
    text = body.get(field, body.get("text"))
    if not isinstance(text, str) or not text.strip():
        raise BadRequest(f"The {field} field is missing or no text.")
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
            callbacks.parse(said["callback"])
        except callbacks.CallbackRefused as error:
            raise BadRequest(str(error)) from error
    return said


def store_message(space: Space, said: dict, *, mark: str) -> Message:
    """The row of this message; the same request, or the same id, again is the same row."""
    chat = chats.find_or_open(space, channel="http", external_id=said["chat_id"])
    name = f"id-{said['id']}" if said["id"] else f"signed-{mark}"
    external_id = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
    notes = [{"outcome": CALLBACK, "url": said["callback"]}] if said["callback"] else []
    taken = inbox.receive(
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


async def wait_for(message: Message, *, seconds: float) -> str | None:
    """What was answered, by whichever process; None when that takes too long."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                reply = await sync_to_async(_reply)(message)
                if reply is not None:
                    return reply
                await asyncio.sleep(POLL_SECONDS)
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
