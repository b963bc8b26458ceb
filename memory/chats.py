"""Chats: where people and Keno talk, what was said there, and what kind of place it is."""

import hashlib
import re
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import actors, history, notices, text
from memory.history import Done
from memory.models import Chat, Message, Space
from memory.screen import Screened, screen

KEY = re.compile(r"[A-Za-z0-9_-]{1,161}\Z")
# No dash: the first dash of a key ends the channel, so that no two chats share a key.
CHANNEL = re.compile(r"[A-Za-z0-9_]{1,32}\Z")
CONTEXT_LENGTH = 4000
# However long the silence, a reply still sees the last exchanges of the same afternoon.
FLOOR, FLOOR_HOURS = 4, 4


class BadChatId(ValueError):
    """A chat id may hold only letters, digits, _ and -."""

    def __str__(self):
        return _("A chat id may hold only letters, digits, _ and -.")


class Received(NamedTuple):
    message: Message
    is_new: bool


def key_of(channel: str, external_id: object) -> str:
    """The chat's name inside its space: telegram-123456789, telegram--4990985512 for a group."""
    key = f"{channel}-{external_id}"
    if not CHANNEL.match(channel) or not str(external_id) or not KEY.match(key):
        raise BadChatId
    if len(str(external_id)) > 128:
        raise BadChatId
    return key


def find_or_open(space: Space, *, channel: str, external_id: object, **given: object) -> Chat:
    """The chat behind this address; `given` (title, language, thread) is for a new one."""
    key = key_of(channel, external_id)
    if "title" in given:
        given["title"] = text.short(text.clean(str(given["title"])), 200)
    return Chat.objects.get_or_create(
        space=space,
        channel=channel,
        external_id=str(external_id),
        defaults={"key": key} | given,
    )[0]


def by_key(space: Space, key: str) -> Chat | None:
    """The chat of this key; BadChatId when the key could name a file or a path."""
    if not KEY.match(key):
        raise BadChatId
    return Chat.objects.filter(space=space, key=key).first()


@transaction.atomic(savepoint=False)
def receive(
    chat: Chat,
    *,
    text: str,
    external_id: object = "",
    role: str = Message.Role.USER,
    now: datetime | None = None,
    sent_at: datetime | None = None,
    **given: object,
) -> Received:
    """Keep what somebody said, once per external id, with secrets taken out.

    A channel whose messages have no ids leaves external_id empty: every call is then a new message.
    `given` may name author, author_id, reply_to, trace, language.
    """
    said = screen(text)
    sent_at = sent_at or now or timezone.now()
    values = {
        "space": chat.space,
        "role": role,
        "text": said.text,
        "flags": [*said.flags, *_cut(text, said)],
        "sent_at": sent_at,
    } | _described(said, given)
    message, is_new = _kept(chat, _external_id(external_id), values)
    if is_new:
        # Greatest ignores a null: an older import never moves the clock back.
        Chat.objects.filter(pk=chat.pk).update(last_message_at=Greatest("last_message_at", sent_at))
    return Received(message, is_new)


def reply(
    chat: Chat, *, text: str, to: Message | None = None, now: datetime | None = None
) -> Message:
    """Keep what Keno answered, without its tags. One reply to one message, however often saved."""
    external_id = f"reply-{to.pk}" if to else ""
    said = receive(
        chat,
        text=text,
        external_id=external_id,
        role=Message.Role.ASSISTANT,
        author="Keno",
        reply_to=to,
        now=now,
    )
    return said.message


def short_term(
    chat: Chat, *, now: datetime | None = None, before: Message | None = None
) -> list[Message]:
    """The last messages a reply sees, oldest first: so many of them, so many minutes back."""
    now = now or timezone.now()
    options = chat.space.options
    said = Message.objects.filter(chat=chat, sent_at__lte=now).exclude(role=Message.Role.SYSTEM)
    if before:
        said = said.exclude(pk__gte=before.pk)
    newest = list(said.order_by("-sent_at", "-pk")[: options.history_messages])
    near = now - timedelta(minutes=options.history_minutes)
    far = now - timedelta(hours=FLOOR_HOURS)
    seen = [
        message
        for place, message in enumerate(newest)
        if message.sent_at >= near or (place < FLOOR and message.sent_at >= far)
    ]
    return seen[::-1]


def transcript(chat: Chat) -> QuerySet:
    return Message.objects.filter(chat=chat).order_by("sent_at", "pk")


@transaction.atomic
def set_context(chat: Chat, *, text: str, by: str, now: datetime | None = None) -> Done:
    """Say what kind of chat this is. It replaces what was there; saying nothing changes nothing."""
    said = screen(text, but={"learned"})
    words = said.text[:CONTEXT_LENGTH].strip()
    if not words or words == chat.context:
        return Done(chat, outcome="unchanged" if words else "empty")
    if said.reasons and not actors.is_person(by):
        # Every prompt carries the context: a suspicious one waits for the owner instead.
        return notices.set_aside(
            chat.space, what=f"context of {chat.key}", text=words, reasons=said.reasons
        )
    with history.change(by=by, why="chat context") as context:
        chat.context = words
        chat.save(update_fields=["context"])
    return Done(chat, context.id)


@transaction.atomic
def revise(chat: Chat, *, title: str, context: str, by: str) -> Done:
    """A person names the chat and says what kind it is; both may be emptied."""
    actors.require_person(by)
    values = {
        "title": text.short(text.clean(title), 200),
        "context": screen(context).text[:CONTEXT_LENGTH].strip(),
    }
    if all(getattr(chat, name) == value for name, value in values.items()):
        return Done(chat, outcome="unchanged")
    with history.change(by=by, why="chat context") as change:
        chat.title, chat.context = values["title"], values["context"]
        chat.save(update_fields=["title", "context"])
    return Done(chat, change.id)


def _described(said: Screened, given: dict) -> dict:
    author = text.short(text.clean(str(given.pop("author", ""))), 120)
    author_id = text.clean(str(given.pop("author_id", "")))[:128]
    language = given.pop("language", "") or text.detect_language(said.text)
    return given | {"author": author, "author_id": author_id, "language": language}


def _kept(chat: Chat, external_id: str, values: dict) -> Received:
    if not external_id:
        # Nothing to look for: it is a new one.
        made = Message.objects.create(chat=chat, external_id=uuid4().hex, **values)
        return Received(made, True)
    named = {"chat": chat, "external_id": external_id}
    return Received(*Message.objects.get_or_create(**named, defaults=values))


def _external_id(given: object) -> str:
    """The channel's own name of the message; empty when it has none."""
    name = text.clean(str(given), limit=None).strip()
    return name if len(name) <= 128 else hashlib.sha256(name.encode()).hexdigest()


def _cut(whole: str, said: Screened) -> list[str]:
    """What was beyond the limit is not kept, but that it was there is."""
    if len(whole) <= text.LIMIT:
        return []
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    return [f"truncated:{len(whole)}:{digest}"]
