"""Chats, their messages, and the description of each chat."""

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import notices
from memory.guards.screening import Screened, redacted, screen, screen_message
from memory.history import actors, audit, rows
from memory.history.changes import ChangeResult
from memory.models import Chat, Episode, Member, Message, SilencedMessage, Space
from memory.models.prepared import insert, prepared
from memory.text import normalise as text

KEY = re.compile(r"[A-Za-z0-9_-]{1,161}\Z")
# No dash: the first dash of a key ends the channel, so that no two chats share a key.
CHANNEL = re.compile(r"[A-Za-z0-9_]{1,32}\Z")
CONTEXT_LENGTH = 4000
# The flag of a forwarded message, with the name of its author, if that is known.
FORWARDED = "forwarded:"
# After a long silence a reply still sees so many messages of the last hours.
MIN_MESSAGES = 4
MIN_MESSAGES_HOURS = 4
# Greatest ignores a null: an older import never moves the clock back.
WITH_CHAT = """
WITH message AS ({}),
chat AS (
  UPDATE memory_chat SET last_message_at = greatest(last_message_at, %s)
  WHERE id = %s AND EXISTS (SELECT FROM message)
)
SELECT id FROM message
"""


class BadChatId(ValueError):
    """A chat id may hold only letters, digits, _ and -."""

    def __str__(self):
        return _("A chat id may hold only letters, digits, _ and -.")


class Received(NamedTuple):
    message: Message
    is_new: bool


def key_of(channel: str, external_id: object) -> str:
    """Return the chat's key in its space: telegram-123456789, or telegram--499098 for a group."""
    key = f"{channel}-{external_id}"
    is_valid = CHANNEL.match(channel) and KEY.match(key) and 0 < len(str(external_id)) <= 128
    if not is_valid:
        raise BadChatId
    return key


def find_or_open(space: Space, *, channel: str, external_id: object, **defaults: Any) -> Chat:
    """Get or create a chat; `defaults` (title, language, thread) are for a new one."""
    key = key_of(channel, external_id)
    if "title" in defaults:
        defaults["title"] = text.short(redacted(str(defaults["title"])), 200)
    names = {"channel": channel, "external_id": str(external_id)}
    return Chat.objects.get_or_create(space=space, **names, defaults={"key": key} | defaults)[0]


@transaction.atomic
def set_private(chat: Chat, *, owner: Member, private: bool, by: str) -> bool:
    """Close the chat to everybody but its owner, or open it to the space again.

    Only a member who alone talks in it may close it, and only its owner may open it.
    """
    if private == chat.is_private or not (_talks_alone(chat, owner) or chat.owner == owner):
        return False
    chat.is_private, chat.owner = private, owner if private else None
    chat.save(update_fields=["is_private", "owner"])
    audit.record(f"chat.{'closed' if private else 'shared'}", actor=by, space=chat.space, obj=chat)
    return True


def _talks_alone(chat: Chat, member: Member) -> bool:
    links = member.chat_links.filter(channel=chat.channel, linked_at__isnull=False)
    mine = {str(member.user_id)} if chat.channel == "web" else set()
    mine |= set(links.values_list("author_id", flat=True))
    messages = Message.objects.filter(chat=chat, role=Message.Role.USER).order_by()
    authors = set(messages.values_list("author_id", flat=True).distinct())
    return bool(authors) and authors <= mine


def by_key(space: Space, key: str) -> Chat | None:
    """Return the chat of this key; BadChatId when the key could name a file or a path."""
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
    origin: str | None = None,
    **fields: Any,
) -> Received:
    """Store a message, once per external id, with secrets redacted.

    A channel without ids leaves external_id empty: every call is then a new message. `origin` is
    the author of a forwarded message, empty when hidden. `fields` may name author, author_id,
    reply_to, trace, language, not_recalled.
    """
    screened = screen_message(text, role=role)
    sent_at = sent_at or now or timezone.now()
    flags = [*screened.flags, *truncation_flag(text), *_origin_flag(origin)]
    values = {"space": chat.space, "role": role, "text": screened.text, "flags": flags}
    values |= {"sent_at": sent_at} | _describe(screened, fields)
    if chat.incognito_since:
        # In the transcript until the incognito part ends; nothing learns from it.
        values |= {"not_recalled": Message.NotRecalled.INCOGNITO, "ingested_at": sent_at}
    return _get_or_create_message(chat, stored_id(external_id), values)


def begin_incognito(chat: Chat, *, now: datetime | None = None) -> bool:
    """Make the chat incognito from now on; False when it is already."""
    if chat.incognito_since:
        return False
    chat.incognito_since = now or timezone.now()
    chat.save(update_fields=["incognito_since"])
    return True


def reply(
    chat: Chat,
    *,
    text: str,
    to: Message | None = None,
    now: datetime | None = None,
    changes: Sequence[UUID | str | None] = (),
    **fields: Any,
) -> Message:
    """Store Keno's reply, without its tags; once per message, however often it is saved.

    `changes` are the changes of memory that came with it, for /undo; `fields` may name
    not_recalled and episode_id.
    """
    received = receive(
        chat,
        text=text,
        external_id=f"reply-{to.pk}" if to else "",
        role=Message.Role.ASSISTANT,
        author="Keno",
        reply_to=to,
        now=now,
        journal=_journal_of(changes),
        **{"not_recalled": None} | fields,
    )
    if not received.is_new:
        record_changes(received.message, changes)
    return received.message


def _journal_of(changes: Sequence[UUID | str | None]) -> list[dict]:
    ids = list(dict.fromkeys(str(change) for change in changes if change))
    return [{"outcome": "changed", "changes": ids}] if ids else []


def record_changes(reply: Message, changes: Sequence[UUID | str | None]) -> None:
    """Write the changes of memory that came with a reply into its journal, for /undo."""
    if any(changes):
        _record_changes(reply, changes)


@transaction.atomic(savepoint=False)
def _record_changes(reply: Message, changes: Sequence[UUID | str | None]) -> None:
    fresh = Message.objects.select_for_update().only("journal").get(pk=reply.pk)
    known = {change for entry in fresh.journal for change in entry.get("changes", ())}
    if lines := _journal_of([change for change in changes if str(change) not in known]):
        reply.journal = [*fresh.journal, *lines]
        reply.save(update_fields=["journal"])


def short_term(
    chat: Chat, *, now: datetime | None = None, before: Message | None = None
) -> list[Message]:
    """Return the last messages that a reply sees, oldest first, by number and age."""
    now = now or timezone.now()
    before_pk, limit = before.pk if before else None, chat.space.options.history_messages
    newest = _newest(chat=chat.pk, now=now, before=before_pk, limit=limit)
    seen = _number_seen(chat.space, [message.sent_at for message in newest], now=now)
    return newest[:seen][::-1]


def first_seen(chat: Chat, *, now: datetime) -> int | None:
    """Return the oldest message that a reply would see, by its id."""
    limit = chat.space.options.history_messages
    newest = _newest_times(chat=chat.pk, now=now, limit=limit)
    seen = _number_seen(chat.space, [sent_at for _pk, sent_at in newest], now=now)
    return newest[seen - 1][0] if seen else None


def _number_seen(space: Space, times: Sequence[datetime], *, now: datetime) -> int:
    """Return how many messages, sent at these times, newest first, a reply sees."""
    near = now - timedelta(minutes=space.options.history_minutes)
    far = now - timedelta(hours=MIN_MESSAGES_HOURS)
    recent = sum(sent_at >= near for sent_at in times)
    return max(recent, sum(sent_at >= far for sent_at in times[:MIN_MESSAGES]))


@prepared(chat="bigint", now="timestamptz")
def _newest_times(chat, now, limit):
    return _newest_first(chat, now, None, limit).values_list("pk", "sent_at")


@prepared(chat="bigint", now="timestamptz", before="bigint")
def _newest(chat, now, before, limit):
    return _newest_first(chat, now, before, limit)


def _newest_first(chat: Any, now: Any, before: Any, limit: int) -> QuerySet[Message]:
    messages = Message.objects.filter(chat=chat, sent_at__lte=now, silenced_by=None)
    messages = messages.filter(pk__lt=before) if before else messages
    messages = messages.exclude(role=Message.Role.SYSTEM)
    return messages.exclude(episode__status="discarded").order_by("-sent_at", "-pk")[:limit]


@transaction.atomic
def silence(space: Space, messages: Sequence[int], *, silent: bool = True) -> None:
    """Keep these messages and the replies to them out of recall and of the short-term window.

    Without `silent` undo that, unless something else keeps them silent.
    """
    affected = Q(pk__in=messages) | Q(reply_to__in=messages)
    pks = list(Message.objects.filter(affected, space=space).values_list("pk", flat=True))
    if silent:
        SilencedMessage.objects.bulk_create([SilencedMessage(message_id=pk) for pk in pks])
    else:
        SilencedMessage.objects.filter(fact=None, message__in=pks).delete()
    # Writing the rows again lets their own triggers decide whether recall sees them.
    Message.objects.filter(pk__in=pks).update(episode_id=F("episode_id"))
    Episode.objects.filter(messages__in=pks).update(title=F("title"))
    Chat.objects.filter(messages__in=pks).update(title=F("title"))


@transaction.atomic
def set_context(chat: Chat, *, text: str, by: str, now: datetime | None = None) -> ChangeResult:
    """Replace the description of the chat; an empty text changes nothing."""
    screened = screen(text, ignore={"learned"})
    words = screened.text[:CONTEXT_LENGTH].strip()
    if not words or words == chat.context:
        return ChangeResult(chat, outcome="unchanged" if words else "empty")
    if screened.reasons and not actors.is_person(by):
        # Every prompt carries the context: a suspicious one waits for the owner instead.
        what, reasons = f"context of {chat.key}", screened.reasons
        return notices.set_aside(chat.space, what=what, text=words, reasons=reasons)
    return rows.change(chat, by=by, why="chat context", context=words)


@transaction.atomic
def revise(chat: Chat, *, title: str, context: str, by: str) -> ChangeResult:
    """Set title and description of the chat, by a person; both may be empty."""
    actors.require_person(by)
    title, context = text.short(redacted(title), 200), screen(context).text
    context = context[:CONTEXT_LENGTH].strip()
    return rows.change(chat, by=by, why="chat context", title=title, context=context)


def _describe(screened: Screened, fields: dict) -> dict:
    author = text.short(text.clean(str(fields.pop("author", ""))), 120)
    author_id = text.clean(str(fields.pop("author_id", "")))[:128]
    language = fields.pop("language", "") or text.detect_language(screened.text)
    return fields | {"author": author, "author_id": author_id, "language": language}


def _get_or_create_message(chat: Chat, external_id: str, values: dict) -> Received:
    message = Message(chat=chat, external_id=external_id or uuid4().hex, **values)
    # Without an id of the channel every message is a new one.
    is_known, now_last = bool(external_id), [message.sent_at, chat.pk]
    if insert(message, unless_there=is_known, within=WITH_CHAT, more=now_last):
        return Received(message, True)
    return Received(Message.objects.get(chat=chat, external_id=external_id), False)


def stored_id(value: object) -> str:
    """Return the channel's id of the message, hashed when too long; empty when it has none."""
    name = text.clean(str(value), limit=None).strip()
    return name if len(name) <= 128 else hashlib.sha256(name.encode()).hexdigest()


def _origin_flag(origin: str | None) -> list[str]:
    return [] if origin is None else [f"{FORWARDED}{text.short(text.one_line(origin), 80)}"]


def truncation_flag(whole: str) -> list[str]:
    """Flag a text that is longer than what is kept, with its length and digest."""
    if len(whole) <= text.MAX_LENGTH:
        return []
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    return [f"truncated:{len(whole)}:{digest}"]
