"""Outgoing messages: written with the reply, delivered at least once."""

import json
import logging
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import override

from bot import channels
from bot.channels import Outgoing, SendFailed
from memory import jobs
from memory.chats import service as chats
from memory.facts import plans
from memory.models import Chat, ChatLink, Member, Message, Notice, OutboxItem, Reminder, Space
from memory.models.prepared import insert
from memory.operations import webhooks
from memory.text import normalise as text

log = logging.getLogger(__name__)
DELIVER = "bot.deliver"
# Sending goes before answering.
PRIORITY = 20
# An older notice is not sent any more; it stands on the page.
DELIVER_WITHIN = timedelta(days=1)


def put(
    chat: Chat,
    *,
    text: str,
    key: str,
    kind: str = OutboxItem.Kind.REPLY,
    message: Message | None = None,
    now: datetime,
) -> OutboxItem:
    """Have the text sent to the chat. The same key again sends nothing more."""
    channel = channels.get(chat.channel)
    needs_sending = channel is None or channel.delivers
    item = OutboxItem(
        chat=chat,
        key=key,
        space=chat.space,
        message=message,
        kind=kind,
        text=text,
        created_at=now,
        delivered_at=None if needs_sending else now,
    )
    if not insert(item, unless_there=True):
        return OutboxItem.objects.get(chat=chat, key=key)
    if needs_sending:
        enqueue(item)
    return item


def enqueue(item: OutboxItem) -> None:
    # One lock per chat: replies arrive in the order in which they were written.
    jobs.enqueue(
        DELIVER,
        lock=f"out-{item.chat_id}",
        priority=PRIORITY,
        queue=channels.queue(item.chat.channel),
        item_id=item.pk,
        space_id=item.space_id,
    )


async def deliver(item_id: int) -> None:
    item = await sync_to_async(_waiting)(item_id)
    if item is None:
        return
    channel = channels.get(item.chat.channel)
    if channel is None:
        # An old job, or one that a person had tried again: for the process that has the channel.
        await sync_to_async(enqueue)(item)
        return
    answered = item.message.reply_to if item.message else None
    reply_to = answered.external_id if answered else ""
    try:
        outgoing = Outgoing(item.chat, item.text, item.key, reply_to, item.kind)
        external_id = await channel.send(outgoing)
    except SendFailed as error:
        failed_at = timezone.now() if error.permanent else None
        await _record(item, error=text.clean(str(error))[:300], failed_at=failed_at)
        raise
    sent_as = text.clean(external_id)[:128]
    await _record(item, delivered_at=timezone.now(), external_id=sent_as, error="")


def _waiting(item_id: int) -> OutboxItem | None:
    return (
        OutboxItem.objects.select_related("chat__space", "message__reply_to")
        .filter(pk=item_id, delivered_at=None, failed_at=None)
        .first()
    )


async def _record(item: OutboxItem, **fields: Any) -> None:
    rows = OutboxItem.objects.filter(pk=item.pk)
    await sync_to_async(rows.update)(attempts=F("attempts") + 1, **fields)


async def call_webhook(delivery_id: int) -> None:
    from bot.channels import http

    delivery = await sync_to_async(webhooks.waiting)(delivery_id)
    if delivery is None:
        return
    body = json.dumps(webhooks.body(delivery)).encode()
    secret = webhooks.secret_of(delivery.webhook)
    try:
        status = await http.call(delivery.webhook.url, body=body, secret=secret)
    except SendFailed as error:
        failed = partial(webhooks.record, error=str(error), permanent=error.permanent)
        await sync_to_async(failed)(delivery)
        raise
    await sync_to_async(webhooks.record)(delivery, status=status)


def page(name: str, *args: object) -> str:
    """Return the URL of the page, or only its path when KENO_URL is not set."""
    return settings.KENO_URL + reverse(name, args=args)


def say_reminders(*, now: datetime) -> int:
    """Send every plan whose time has come to the chat where it was made; return how many."""
    count = 0
    for reminder in plans.due(now=now):
        try:
            count += _remind(reminder, now=now)
        except (ValueError, LookupError):
            # One that fails must not keep the others.
            log.exception("reminder %s could not be said", reminder.pk)
    return count


@transaction.atomic
def _remind(reminder: Reminder, *, now: datetime) -> bool:
    at = plans.take(reminder, now=now)
    if at is None:
        return False
    chat, fact = reminder.chat, reminder.fact
    with override(fact.language or chat.language or chat.space.language):
        words = _("Reminder: %(text)s") % {"text": plans.bare(fact)}
        if now - at > plans.LATE:
            today = at.date() == chat.space.local_date(now)
            clock = date_format(at, "H:i" if today else "D j M, H:i")
            words = f"{words} {_('(this was for %(time)s)') % {'time': clock}}"
    key = f"reminder-{reminder.pk}-{at:%Y%m%dT%H%M}"
    received = chats.receive(
        chat,
        text=words,
        role=Message.Role.ASSISTANT,
        author="Keno",
        external_id=key,
        not_recalled=Message.NotRecalled.OWN_WORDS,
        now=now,
    )
    put(chat, text=words, key=key, message=received.message, now=now)
    return True


def deliver_notices(*, now: datetime) -> int:
    """Put new notices into the outbox; return how many messages that makes."""
    since = now - DELIVER_WITHIN
    fresh = Notice.objects.filter(delivered_at=None, seen_at=None, created_at__gt=since)
    return sum(_deliver(notice, now=now) for notice in fresh.order_by("pk"))


def owners_chats(space: Space) -> QuerySet[Chat]:
    links = ChatLink.objects.filter(
        space=space, linked_at__isnull=False, member__role=Member.Role.OWNER
    )
    own = Chat.objects.none()
    for channel, author in links.values_list("channel", "author_id"):
        # On all channels the id of a private chat is the id of its person.
        own |= Chat.objects.filter(space=space, channel=channel, external_id=author)
    return own


def notice_text(notice: Notice) -> str:
    with override(notice.space.language):
        text = str(notice)
    if not notice.link or notice.link.startswith("/"):
        return text
    here = page("overview:index", notice.space.slug)
    return f"{text}\n{here}{notice.link}"


def _deliver(notice: Notice, *, now: datetime) -> int:
    own = list(owners_chats(notice.space))
    words, key = notice_text(notice), f"notice-{notice.pk}"
    for chat in own:
        put(chat, text=words, key=key, kind=OutboxItem.Kind.NOTICE, now=now)
    if own:
        Notice.objects.filter(pk=notice.pk).update(delivered_at=now)
    return len(own)
