"""Link authors in chats to members of the space, by a one-time code from the dashboard."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory.history import audit
from memory.history.actors import person
from memory.models import Chat, ChatLink, Member, Message, Space
from memory.models.prepared import prepared
from memory.models.space import once
from memory.text import normalise as text

CODE_MINUTES = 10
# Without letters that look like another one, or like a digit.
CODE_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
# Authors there have signed in to the dashboard: their id is that of the account.
WEB = "web"
# Who uses the terminal of the machine can read the database anyway.
CONSOLE = "console"
# How many of the last messages decide who hears a chat.
RECENT_MESSAGES = 200
# Begins the author id of a link to a server (of Discord), not to a person.
SERVER = "server-"


def offer(member: Member, *, now: datetime | None = None) -> str:
    """Return a code that links its sender in a chat to this member; older codes become invalid."""
    now = now or timezone.now()
    code = "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH))
    ChatLink.objects.filter(member=member, linked_at=None).delete()
    ChatLink.objects.create(
        space=member.space,
        member=member,
        digest=_digest(code),
        created_at=now,
        expires_at=now + timedelta(minutes=CODE_MINUTES),
    )
    return code


def is_open(space: Space, *, code: str, now: datetime | None = None) -> bool:
    """Tell whether the code is an open offer of a member of the space."""
    waiting = ChatLink.objects.filter(space=space, linked_at=None)
    open_now = waiting.filter(expires_at__gt=now or timezone.now())
    return open_now.filter(digest=_digest(code)).exists()


def is_linked(space: Space, *, channel: str, author_id: str) -> bool:
    """Tell whether the author is a member of the space who may still sign in."""
    links = ChatLink.objects.filter(space=space, channel=channel, author_id=author_id)
    return links.filter(linked_at__isnull=False, member__user__is_active=True).exists()


def space_of(
    *, channel: str, person: str, server: str = "", name: str = "", code: str = ""
) -> Space | None:
    """Return the space of an author where one bot serves several spaces.

    On a server it is that of the server, which an owner links by writing a code there. In a private
    chat it is the one they were linked to last, or the one of the code they send.
    """
    author_id = f"{SERVER}{server}" if server else person
    linked = ChatLink.objects.filter(channel=channel, author_id=author_id, linked_at__isnull=False)
    link = linked.select_related("space").order_by("-linked_at").first()
    if link:
        return link.space
    now = timezone.now()
    offers = ChatLink.objects.filter(linked_at=None, digest=_digest(code), expires_at__gt=now)
    offers = offers.filter(member__role=Member.Role.OWNER) if server else offers
    offer = offers.select_related("space", "member__user").first()
    if offer and server:
        _link_server(offer, channel=channel, author_id=author_id, author=name[:120], now=now)
    return offer.space if offer else None


@transaction.atomic
def _link_server(offer: ChatLink, *, author: str, now: datetime, **names: str) -> None:
    link = ChatLink.objects.create(
        space=offer.space,
        member=offer.member,
        digest=_digest(f"{names['channel']} {names['author_id']}"),
        expires_at=now,
        linked_at=now,
        author=author,
        **names,
    )
    _record(link, "account.chat_linked", **names)


def _record(link: ChatLink, action: str, **details: str) -> None:
    by = person(link.member.user)
    audit.record(action, actor=by, space=link.space, obj=link, **details)


@transaction.atomic
def redeem(message: Message, *, code: str, now: datetime) -> Member | None:
    """Link the author of the message to a member; None when the code is not valid."""
    names = {"channel": message.chat.channel, "author_id": message.author_id}
    offers = ChatLink.objects.select_for_update().filter(space=message.space, linked_at=None)
    link = offers.filter(digest=_digest(code), expires_at__gt=now).first()
    # A program with a token never becomes a person.
    if link is None or not message.author_id or message.chat.channel in (WEB, "api"):
        return None
    ChatLink.objects.filter(space=message.space, **names).delete()
    link.channel, link.author_id = message.chat.channel, message.author_id
    link.author, link.linked_at = message.author, now
    link.save()
    _record(link, "account.chat_linked", **names)
    return link.member


def member_of(message: Message) -> Member | None:
    """Return the member that the author of the message is; None when not linked."""
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


def speaker_of(message: Message) -> frozenset[tuple[str, str]]:
    """Return who wrote the message: (channel, author id) pairs that are one person.

    Names are not compared: they prove nothing.
    """
    key = ("speaker", message.chat.space_id, message.chat.channel, message.author_id)
    return once(key, lambda: _speaker_of(message))


def _speaker_of(message: Message) -> frozenset[tuple[str, str]]:
    channel, author_id = message.chat.channel, message.author_id
    if not author_id:
        return frozenset()
    space = message.chat.space_id
    if channel == WEB:
        member = member_of(message)
        links = _links_of(space=space, member=member.pk) if member else []
    else:
        links = _linked_with(space=space, channel=channel, author_id=author_id)
    own = {(link.channel, link.author_id) for link in links}
    own |= {(WEB, str(link.member.user_id)) for link in links}
    return frozenset({(channel, author_id), *own})


@prepared(space="bigint", member="bigint")
def _links_of(space, member):
    return _links(space).filter(member=member)


@prepared(space="bigint", channel="varchar", author_id="varchar")
def _linked_with(space, channel, author_id):
    """Return every account of the member that this one is linked to."""
    mine = _links(space).filter(channel=channel, author_id=author_id).values("member")
    return _links(space).filter(member__in=mine)


def _links(space: Any) -> QuerySet[ChatLink]:
    linked = ChatLink.objects.filter(space=space, linked_at__isnull=False)
    return linked.filter(member__user__is_active=True).select_related("member")


def said_by_same(message: Message, *, prefix: str = "") -> Q:
    """Return the filter for messages of the same person; with `prefix` for related rows.

    Without an author id, the name counts within that one chat.
    """
    pairs = speaker_of(message)
    if not message.author_id:
        without_id = {"chat": message.chat_id, "author_id": "", "author": message.author}
        return Q(**{f"{prefix}{name}": value for name, value in without_id.items()})
    authors = Q()
    for channel, author_id in pairs:
        authors |= Q(**{f"{prefix}chat__channel": channel, f"{prefix}author_id": author_id})
    return authors & Q(**{f"{prefix}role": Message.Role.USER})


def ids_of(message: Message) -> frozenset[tuple[str, str]]:
    """Return the (channel, author id) pairs of its author.

    Without an author id, the pair of everyone in that chat without one.
    """
    return speaker_of(message) or frozenset({(message.chat.channel, _id(message))})


def whom(message: Message) -> dict[str, str]:
    """Return the columns that limit a row to the author of the message."""
    channel, person = message.chat.channel, message.author
    return {"channel": channel, "author_id": _id(message), "person": person}


def _id(message: Message) -> str:
    return message.author_id or f"#{message.chat_id}"


def hears_the_space(chat: Chat) -> bool:
    """Tell whether this chat may hear what the whole space knows.

    Where that is for members only, everybody who wrote here lately must be one.
    """
    if chat.space.options.shared_with == "everybody" or chat.channel == CONSOLE:
        return True
    messages = Message.objects.filter(chat=chat, role=Message.Role.USER)
    newest = messages.order_by("-sent_at", "-pk").values_list("author_id", flat=True)
    authors = set(newest[:RECENT_MESSAGES])
    members = Member.objects.filter(space=chat.space_id, user__is_active=True)
    if chat.channel == WEB:
        return authors <= set(map(str, members.values_list("user", flat=True)))
    links = ChatLink.objects.filter(member__in=members, linked_at__isnull=False)
    return authors <= set(links.filter(channel=chat.channel).values_list("author_id", flat=True))


def linked(members: QuerySet | list[Member]) -> QuerySet:
    """Return the chat links of these members, newest first."""
    links = ChatLink.objects.filter(member__in=members, linked_at__isnull=False)
    return links.select_related("space").order_by("-linked_at")


def unlink(link: ChatLink, *, by: str) -> None:
    audit.record(
        "account.chat_unlinked", actor=by, space=link.space, obj=link, channel=link.channel
    )
    link.delete()


def _digest(code: str) -> str:
    return hashlib.sha256(text.fold(code).strip().encode("utf-8", "replace")).hexdigest()
