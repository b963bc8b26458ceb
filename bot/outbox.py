"""What leaves: written with the reply, delivered at least once, never forgotten."""

from datetime import datetime

from asgiref.sync import sync_to_async
from django.db.models import F
from django.utils import timezone

from bot import channels
from bot.channels import Outgoing, SendFailed
from memory.models import Chat, Message, OutboxItem
from memory.queue import jobs
from memory.text import normalise as text

DELIVER = "bot.deliver"
# What is ready to be sent goes before what is still to be thought about.
PRIORITY = 20


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
    item, is_new = OutboxItem.objects.get_or_create(
        chat=chat,
        key=key,
        defaults={
            "space": chat.space,
            "message": message,
            "kind": kind,
            "text": text,
            "created_at": now,
            "delivered_at": now if stays else None,
        },
    )
    if is_new and not stays:
        send_later(item)
    return item


def send_later(item: OutboxItem) -> None:
    # One lock per chat: replies arrive in the order in which they were written.
    jobs.enqueue(
        DELIVER,
        lock=f"out-{item.chat_id}",
        priority=PRIORITY,
        item_id=item.pk,
        space_id=item.space_id,
    )


async def deliver(item_id: int) -> None:
    item = await sync_to_async(_waiting)(item_id)
    if item is None:
        return
    channel = channels.get(item.chat.channel)
    if channel is None:
        raise SendFailed(f"The channel {item.chat.channel} does not run here.")
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
