"""What leaves: written with the reply, delivered at least once, never forgotten."""

import json
import logging
from datetime import datetime, timedelta
from functools import partial

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
# What is ready to be sent goes before what is still to be thought about.
PRIORITY = 20
# What nobody could be told in this time is old news; it stands on the page.
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
    stays = channel is not None and not channel.delivers
    item = OutboxItem(
        chat=chat,
        key=key,
        space=chat.space,
        message=message,
        kind=kind,
        text=text,
        created_at=now,
        delivered_at=now if stays else None,
    )
    if not insert(item, unless_there=True):
        return OutboxItem.objects.get(chat=chat, key=key)
    if not stays:
        send_later(item)
    return item


def send_later(item: OutboxItem) -> None:
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
        # An old job, or one that a person had tried again: to the process that has the channel.
        await sync_to_async(send_later)(item)
        return
    try:
        external_id = await channel.send(_outgoing(item))
    except SendFailed as error:
        await sync_to_async(_not_delivered)(item, error)
        raise
    await sync_to_async(_delivered)(item, external_id)


def _outgoing(item: OutboxItem) -> Outgoing:
    answered = item.message.reply_to if item.message else None
    return Outgoing(
        chat=item.chat,
        text=item.text,
        key=item.key,
        reply_to=answered.external_id if answered else "",
        kind=item.kind,
    )


def _waiting(item_id: int) -> OutboxItem | None:
    return (
        OutboxItem.objects.select_related("chat__space", "message__reply_to")
        .filter(pk=item_id, delivered_at=None, failed_at=None)
        .first()
    )


def _delivered(item: OutboxItem, external_id: str) -> None:
    OutboxItem.objects.filter(pk=item.pk).update(
        delivered_at=timezone.now(),
        attempts=F("attempts") + 1,
        external_id=text.clean(external_id)[:128],
        error="",
    )


def _not_delivered(item: OutboxItem, error: SendFailed) -> None:
    OutboxItem.objects.filter(pk=item.pk).update(
        attempts=F("attempts") + 1,
        error=text.clean(str(error))[:300],
        failed_at=timezone.now() if error.permanent else None,
    )


async def call_webhook(delivery_id: int) -> None:
    """Tell a program what has happened, under its webhook's signature."""
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
    """Return the address of the page, or only its path when KENO_URL is not set."""
    return settings.KENO_URL + reverse(name, args=args)


def say_reminders(*, now: datetime) -> int:
    """Say every plan whose time has come in the chat where it was made; return how many."""
    said = 0
    for reminder in plans.due(now=now):
        try:
            said += _remind(reminder, now=now)
        except (ValueError, LookupError):
            # One that cannot be said must not keep the others.
            log.exception("reminder %s could not be said", reminder.pk)
    return said


@transaction.atomic
def _remind(reminder: Reminder, *, now: datetime) -> bool:
    at = plans.take(reminder, now=now)
    if at is None:
        return False
    chat, fact = reminder.chat, reminder.fact
    with override(fact.language or chat.language or chat.space.language):
        said = _("Reminder: %(text)s") % {"text": plans.bare(fact)}
        if now - at > plans.LATE:
            today = at.date() == chat.space.local_date(now)
            clock = date_format(at, "H:i" if today else "D j M, H:i")
            said = f"{said} {_('(this was for %(time)s)') % {'time': clock}}"
    key = f"reminder-{reminder.pk}-{at:%Y%m%dT%H%M}"
    received = chats.receive(
        chat,
        text=said,
        role=Message.Role.ASSISTANT,
        author="Keno",
        external_id=key,
        not_recalled=Message.NotRecalled.OWN_WORDS,
        now=now,
    )
    put(chat, text=said, key=key, message=received.message, now=now)
    return True


def deliver_notices(*, now: datetime) -> int:
    """Hand what is new to the outbox; how many messages that makes."""
    fresh = Notice.objects.filter(
        delivered_at=None, seen_at=None, created_at__gt=now - DELIVER_WITHIN
    )
    return sum(_deliver(notice, now=now) for notice in fresh.order_by("pk"))


def owners_chats(space: Space) -> QuerySet[Chat]:
    """Where an owner who linked a chat account talks to Keno alone."""
    links = ChatLink.objects.filter(
        space=space, linked_at__isnull=False, member__role=Member.Role.OWNER
    )
    alone = Chat.objects.none()
    for channel, author in links.values_list("channel", "author_id"):
        # On the channels there are, a person's own chat bears the person's number.
        alone |= Chat.objects.filter(space=space, channel=channel, external_id=author)
    return alone


def notice_text(notice: Notice) -> str:
    with override(notice.space.language):
        text = str(notice)
    if not notice.link or notice.link.startswith("/"):
        return text
    here = page("overview:index", notice.space.slug)
    return f"{text}\n{here}{notice.link}"


def _deliver(notice: Notice, *, now: datetime) -> int:
    found = list(owners_chats(notice.space))
    for chat in found:
        put(
            chat,
            text=notice_text(notice),
            key=f"notice-{notice.pk}",
            kind=OutboxItem.Kind.NOTICE,
            now=now,
        )
    if found:
        Notice.objects.filter(pk=notice.pk).update(delivered_at=now)
    return len(found)
