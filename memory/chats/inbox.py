"""Receive messages: the row and the job that answers it, in one transaction."""

import hashlib
import re
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from memory import jobs
from memory.chats import service as chats
from memory.guards.screening import screen
from memory.models import Chat, Message, OutboxItem
from memory.text import normalise as words

COMMAND = re.compile(r"/[^\W\d_]")
# "Wait…", "espera un momento": more will follow, so the pause is longer.
UNFINISHED = re.compile(r"(?:\.\.|…)\W*$|^\W*(?:wait|hold on|one moment|un momento|espera)\b", re.I)
UNFINISHED_FACTOR = 2
STOP_WORDS = {"stop", "cancel", "para", "cancelar", "cancela"}
# The job that answers a message. Whoever answers registers a task under this name.
ANSWER_JOB = "bot.answer"
# A command is answered before anything else, without a pause.
PRIORITY = {"command": 10, "full": 5, "text": 0}


def is_command(text: str) -> bool:
    return bool(COMMAND.match(text))


def is_urgent(text: str) -> bool:
    """Tell whether it is a command or an interruption ("stop"), which is answered at once."""
    return is_command(text) or words.fold(text).strip(" .!¡") in STOP_WORDS


def receive(
    chat: Chat,
    *,
    text: str,
    external_id: object = "",
    silence: float | None = None,
    now: datetime | None = None,
    **fields: Any,
) -> Message | None:
    """Store the message and enqueue its answer; None when it was received before.

    `fields` are what chats.receive takes: author, author_id, reply_to, trace, sent_at.
    `silence` is the channel's own pause in seconds before an answer; else the space's.
    """
    now = now or timezone.now()
    with transaction.atomic():
        fields |= {"external_id": _namespaced_id(external_id), "received_at": now}
        message, is_new = chats.receive(chat, text=text, now=now, **fields)
        if not is_new:
            return None
        if not message.text:
            Message.objects.filter(pk=message.pk).update(handled_at=now)
            return message
        answer_later(message, silence=silence, now=now)
        if not chat.incognito_since:
            jobs.call_hooks("message-received", object_id=message.pk, space_id=chat.space_id)
    return message


def edit(chat: Chat, *, text: str, external_id: object, **fields: Any) -> Message | None:
    """Store an edited message: in place while unanswered, as a new message afterwards."""
    screened = screen(text)
    with transaction.atomic():
        rows = Message.objects.filter(chat=chat, role=Message.Role.USER).select_for_update()
        message = rows.filter(external_id=_namespaced_id(external_id)).first()
        if message and (message.text == screened.text or not screened.text):
            return None
        if message and message.handled_at is None:
            message.text, message.flags, message.not_recalled = screened.text, screened.flags, None
            message.save(update_fields=["text", "flags", "not_recalled"])
            message.chat = chat
            return message
    anew = f"{external_id}-{hashlib.sha256(screened.text.encode()).hexdigest()[:16]}"
    return receive(chat, text=text, external_id=anew if message else external_id, **fields)


def answer_later(message: Message, *, now: datetime, silence: float | None = None) -> None:
    """Enqueue the job of this message; that of the newest answers them all: see bot.turn."""
    kind = _kind(message, size=message.space.options.batch_size)
    jobs.enqueue(
        ANSWER_JOB,
        lock=f"chat-{message.chat_id}",
        at=_due(message, silence=silence, now=now) if kind == "text" else None,
        priority=PRIORITY[kind],
        message_id=message.pk,
        space_id=message.space_id,
    )


def unanswered(chat_id: int):
    """Return the messages of people in the chat that were not answered yet, oldest first."""
    messages = Message.objects.filter(chat_id=chat_id, role=Message.Role.USER, handled_at=None)
    return messages.order_by("pk")


def answer_to(message: Message) -> str | None:
    """Return the text sent in answer, or ""; None until the message is handled."""
    handled = Message.objects.filter(pk=message.pk).values_list("handled_at", flat=True).first()
    if handled is None:
        return None
    sent = OutboxItem.objects.filter(
        chat=message.chat_id, message__reply_to__gte=message.pk, message__sent_at=handled
    )
    return sent.order_by("pk").values_list("text", flat=True).first() or ""


def _namespaced_id(external_id: object) -> str:
    """Return an external id that cannot collide with the ids of our replies."""
    name = str(external_id)
    return f"in-{name}" if name.startswith("reply-") else name


def _kind(message: Message, *, size: int) -> str:
    if is_urgent(message.text):
        return "command"
    return "full" if unanswered(message.chat_id)[:size].count() >= size else "text"


def _due(message: Message, *, silence: float | None, now: datetime) -> datetime:
    options = message.space.options
    pause = options.batch_silence if silence is None else silence
    pause *= UNFINISHED_FACTOR if UNFINISHED.search(message.text) else 1
    first = unanswered(message.chat_id).values_list("received_at", flat=True).first() or now
    latest = first + timedelta(seconds=options.batch_wait)
    return min(now + timedelta(seconds=pause), max(latest, now))
