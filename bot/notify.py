"""Notices on their way to the owner: into the chat where the owner talks to Keno alone."""

from datetime import datetime, timedelta

from django.db.models import QuerySet

from bot import outbox
from bot.dashboard_links import page
from memory.models import Chat, ChatLink, Member, Notice, OutboxItem, Space

# What nobody could be told in this time is old news; it stands on the page.
DELIVER_WITHIN = timedelta(days=1)


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
    if not notice.link or notice.link.startswith("/"):
        return notice.text
    here = page("overview:index", notice.space.slug)
    return f"{notice.text}\n{here}{notice.link}"


def _deliver(notice: Notice, *, now: datetime) -> int:
    chats = list(owners_chats(notice.space))
    for chat in chats:
        outbox.put(
            chat,
            text=notice_text(notice),
            key=f"notice-{notice.pk}",
            kind=OutboxItem.Kind.NOTICE,
            now=now,
        )
    if chats:
        Notice.objects.filter(pk=notice.pk).update(delivered_at=now)
    return len(chats)
