"""The messages that a memory or a proposal rests on, as quotes: who said it, where and when."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Model
from django.utils.dateparse import parse_datetime

from kenoweb.auth.access import rows_in
from kenoweb.ui.responses import message_url, space_url
from memory.models import Episode, Fact, Message, Space
from memory.text.normalise import short

# Characters of a message that are shown before and after the quote.
AROUND = 240
MAX_PLACE = 60


@dataclass(frozen=True)
class Source:
    """The words a fact came from, as a quote shows them."""

    text: str
    mark: str = ""
    lang: str = ""
    by: str = ""
    where: str = ""
    url: str = ""
    when: datetime | None = None


def of_evidence(space: Space, items: Sequence[dict]) -> list[Source]:
    """Return each piece of evidence with its speaker; only rows of this space are looked up."""
    messages = _rows_named(space, Message, items, "message", "chat")
    unnamed = [item for item in items if not item.get("by") and item.get("message") not in messages]
    facts, by_episode = _rows_named(space, Fact, unnamed, "fact"), _messages_of(space, unnamed)
    episodes = _rows_named(space, Episode, items, "episode", "chat")

    def source(item: dict) -> Source:
        message = messages.get(item.get("message"))
        if item in unnamed:
            message = _message_with_quote(by_episode[item.get("episode")], item)
        if message:
            return in_message(str(item.get("quote") or ""), message, space=space)
        fact, episode = facts.get(item.get("fact")), episodes.get(item.get("episode"))
        return _without_message(space, item, fact, episode)

    return [source(item) for item in items]


def _pks(items: Sequence[dict], name: str) -> set[int]:
    return {item[name] for item in items if isinstance(item.get(name), int)}


def _rows_named(
    space: Space, model: type[Model], items: Sequence[dict], name: str, *related: str
) -> dict:
    rows = rows_in(space, model)
    return (rows.select_related(*related) if related else rows).in_bulk(_pks(items, name))


def _messages_of(space: Space, items: Sequence[dict]) -> dict[int, list[Message]]:
    """Return what people said in the episodes of these pieces of evidence."""
    by_episode: dict[int, list[Message]] = defaultdict(list)
    pks = _pks(items, "episode")
    rows = rows_in(space, Message).filter(episode__in=pks, role=Message.Role.USER)
    for message in rows.select_related("chat").order_by("sent_at", "pk"):
        by_episode[message.episode_id].append(message)
    return by_episode


def _message_with_quote(messages: list[Message], item: dict) -> Message | None:
    """Return the message with the quote, of which the end may be cut off."""
    quote = str(item.get("quote") or "").rstrip("… ")
    return next((message for message in messages if quote and quote in message.text), None)


def _without_message(
    space: Space, item: dict, fact: Fact | None, episode: Episode | None
) -> Source:
    url = space_url("episodes:detail", space, pk=episode.pk) if episode else ""
    if not episode and item.get("fact"):
        url = space_url("facts:detail", space, pk=item["fact"])
    return Source(
        text=str(item.get("quote") or ""),
        by=item.get("by") or (fact.said_by if fact else ""),
        where=short(str(episode.chat or episode), MAX_PLACE) if episode else "",
        url=url,
        when=parse_datetime(item.get("at") or "") or (episode.started_at if episode else None),
        lang=item.get("language") or (episode.language if episode else ""),
    )


def in_message(quote: str, message: Message, *, space: Space, lang: str = "") -> Source:
    text, mark = message.text, ""
    if quote and quote in text:
        text, mark = _around(text, quote), quote if quote != text.strip() else ""
    elif quote:
        text = quote
    return Source(
        text=text,
        mark=mark,
        lang=message.language or lang,
        by=message.author,
        where=str(message.chat),
        url=message_url(space, message.pk, message.chat_id),
        when=message.sent_at,
    )


def _around(text: str, quote: str) -> str:
    """Return the message, of a long one only what stands around the quote, which is never cut."""
    at = text.index(quote)
    start, end = max(0, at - AROUND), at + len(quote) + AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
