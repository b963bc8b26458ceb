"""Which member of the space somebody in a chat is. A code from the dashboard proves it, once."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory import audit, text
from memory.actors import person
from memory.models import ChatLink, Member, Message, Space

MINUTES = 10
# No letter that is taken for another one, or for a digit.
LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
LENGTH = 8
# Whoever writes there has signed in to the dashboard: the author's id is the account's.
WEB = "web"


def offer(member: Member, *, now: datetime | None = None) -> str:
    """A code that makes whoever sends it in a chat this member. Older offers end."""
    now = now or timezone.now()
    code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    ChatLink.objects.filter(member=member, linked_at=None).delete()
    ChatLink.objects.create(
        space=member.space,
        member=member,
        digest=_digest(code),
        created_at=now,
        expires_at=now + timedelta(minutes=MINUTES),
    )
    return code


@transaction.atomic
def redeem(message: Message, *, code: str, now: datetime) -> Member | None:
    """Link the author of the message; None when the code is not good (any more)."""
    who = {"channel": message.chat.channel, "author_id": message.author_id}
    offers = ChatLink.objects.select_for_update().filter(space=message.space, linked_at=None)
    link = offers.filter(digest=_digest(code), expires_at__gt=now).first()
    if link is None or not message.author_id or message.chat.channel == WEB:
        return None
    ChatLink.objects.filter(space=message.space, **who).delete()
    link.channel, link.author_id = who["channel"], who["author_id"]
    link.author, link.linked_at = message.author, now
    link.save()
    audit.record(
        "account.chat_linked", actor=person(link.member.user), space=link.space, thing=link, **who
    )
    return link.member


def member_of(message: Message) -> Member | None:
    """Who the author is in the dashboard; None for somebody unknown there."""
    if not message.author_id:
        return None
    members = Member.objects.filter(space=message.chat.space_id).select_related("user", "space")
    if message.chat.channel == WEB:
        is_account = message.author_id.isascii() and message.author_id.isdigit()
        return members.filter(user=int(message.author_id)).first() if is_account else None
    return members.filter(
        chat_links__channel=message.chat.channel,
        chat_links__author_id=message.author_id,
        chat_links__linked_at__isnull=False,
        user__is_active=True,
    ).first()


def linked(members: QuerySet | list[Member]) -> QuerySet:
    """The chats these members are linked to, newest first."""
    found = ChatLink.objects.filter(member__in=members, linked_at__isnull=False)
    return found.select_related("space").order_by("-linked_at")


def unlink(link: ChatLink, *, by: str) -> None:
    audit.record(
        "account.chat_unlinked", actor=by, space=link.space, thing=link, channel=link.channel
    )
    link.delete()


def of_space(space: Space) -> QuerySet:
    return linked(Member.objects.filter(space=space))


def _digest(code: str) -> str:
    return hashlib.sha256(text.fold(code).strip().encode("utf-8", "replace")).hexdigest()
