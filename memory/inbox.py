"""How a message comes in: its row and the job that answers it, in one transaction."""

import hashlib
import re
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from memory import chats, jobs
from memory import text as words
from memory.models import Chat, Message
from memory.screen import screen

COMMAND = re.compile(r"/[^\W\d_]")
# "Wait…", "espera un momento": more is coming, so the pause is longer.
UNFINISHED = re.compile(r"(?:\.\.|…)\W*$|^\W*(?:wait|hold on|one moment|un momento|espera)\b", re.I)
LONGER = 2
STOP_WORDS = {"stop", "cancel", "para", "cancelar", "cancela"}
ANSWER = "bot.answer"
# A command never waits for the rest of what somebody is typing, nor behind it.
PRIORITY = {"command": 10, "full": 5, "text": 0}


def is_command(text: str) -> bool:
    return bool(COMMAND.match(text))


def is_urgent(text: str) -> bool:
    """A command, or a word by which people interrupt: nothing waits for what else they type."""
    return is_command(text) or words.fold(text).strip(" .!¡") in STOP_WORDS


def is_unfinished(text: str) -> bool:
    return bool(UNFINISHED.search(text))


def take(
    chat: Chat,
    *,
    text: str,
    external_id: object = "",
    silence: float | None = None,
    now: datetime | None = None,
    **given: object,
) -> Message | None:
    """Keep the message and see that it is answered; None when it was here before.

    `given` is what chats.receive takes: author, author_id, reply_to, trace, sent_at.
    `silence` is the channel's own pause in seconds before an answer; else the space's.
    """
    now = now or timezone.now()
    with transaction.atomic():
        message, is_new = chats.receive(
            chat, text=text, external_id=_foreign(external_id), now=now, received_at=now, **given
        )
        if not is_new:
            return None
        if not message.text:
            Message.objects.filter(pk=message.pk).update(handled_at=now)
            return message
        answer_later(message, silence=silence, now=now)
    return message


def edit(chat: Chat, *, text: str, external_id: object, **given: object) -> Message | None:
    """Somebody changed what they had said. Unanswered, it is as if they had said it so; a change
    of what was answered already is said anew."""
    said = screen(text)
    with transaction.atomic():
        found = Message.objects.select_for_update().filter(
            chat=chat, external_id=_foreign(external_id), role=Message.Role.USER
        )
        message = found.first()
        if message and (message.text == said.text or not said.text):
            return None
        if message and message.handled_at is None:
            message.text, message.flags = said.text, said.flags
            message.save(update_fields=["text", "flags"])
            message.chat = chat
            return message
    anew = f"{external_id}-{hashlib.sha256(said.text.encode()).hexdigest()[:16]}"
    return take(chat, text=text, external_id=anew if message else external_id, **given)


def answer_later(message: Message, *, now: datetime, silence: float | None = None) -> None:
    """Every message has its own job. The newest one's answers them all: see bot.batching."""
    options = message.space.options
    kind = _kind(message, size=options.batch_size)
    at = None
    if kind == "text":
        at = _due(message, silence=silence, now=now)
    jobs.enqueue(
        ANSWER,
        lock=f"chat-{message.chat_id}",
        at=at,
        priority=PRIORITY[kind],
        message_id=message.pk,
        space_id=message.space_id,
    )


def waiting(chat_id: int):
    """What people said in the chat and nobody answered yet, oldest first."""
    return Message.objects.filter(
        chat_id=chat_id, role=Message.Role.USER, handled_at=None
    ).order_by("pk")


def _foreign(external_id: object) -> str:
    """An outsider's id can never be the id of one of our replies."""
    name = str(external_id)
    return f"in-{name}" if name.startswith("reply-") else name


def _kind(message: Message, *, size: int) -> str:
    if is_urgent(message.text):
        return "command"
    return "full" if waiting(message.chat_id)[:size].count() >= size else "text"


def _due(message: Message, *, silence: float | None, now: datetime) -> datetime:
    options = message.space.options
    pause = options.batch_silence if silence is None else silence
    pause *= LONGER if is_unfinished(message.text) else 1
    first = waiting(message.chat_id).values_list("received_at", flat=True).first() or now
    longest = first + timedelta(seconds=options.batch_wait)
    return min(now + timedelta(seconds=pause), max(longest, now))
