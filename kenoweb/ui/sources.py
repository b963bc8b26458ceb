"""The words that a memory or a proposal rests on, as quotes with who said them, where and when."""

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

# Signs of a message around the words that carried the claim.
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
    """Each piece of evidence with its speaker; only rows of this space are looked up."""
    messages = _found(space, Message, items, "message", "chat")
    unnamed = [one for one in items if not one.get("by") and one.get("message") not in messages]
    facts, heard = _found(space, Fact, unnamed, "fact"), _heard(space, unnamed)
    episodes = _found(space, Episode, items, "episode", "chat")

    def source(one: dict) -> Source:
        said = messages.get(one.get("message"))
        if one in unnamed:
            said = _speaks(heard[one.get("episode")], one)
        if said:
            return in_message(str(one.get("quote") or ""), said, space=space)
        return _told(space, one, facts.get(one.get("fact")), episodes.get(one.get("episode")))

    return [source(one) for one in items]


def _found(
    space: Space, model: type[Model], items: Sequence[dict], name: str, *with_them: str
) -> dict:
    pks = {one[name] for one in items if isinstance(one.get(name), int)}
    rows = rows_in(space, model).select_related(*with_them) if with_them else rows_in(space, model)
    return rows.in_bulk(pks) if pks else {}


def _heard(space: Space, items: Sequence[dict]) -> dict[int, list[Message]]:
    """What people said in the episodes of these pieces of evidence."""
    pks = {one["episode"] for one in items if isinstance(one.get("episode"), int)}
    said: dict[int, list[Message]] = defaultdict(list)
    if pks:
        rows = rows_in(space, Message).filter(episode__in=pks, role=Message.Role.USER)
        for message in rows.select_related("chat").order_by("sent_at", "pk"):
            said[message.episode_id].append(message)
    return said


def _speaks(said: list[Message], one: dict) -> Message | None:
    """The message that says the quote, which may be cut."""
    quote = str(one.get("quote") or "").rstrip("… ")
    return next((message for message in said if quote and quote in message.text), None)


def _told(space: Space, one: dict, fact: Fact | None, episode: Episode | None) -> Source:
    url = space_url("episodes:detail", space, pk=episode.pk) if episode else ""
    if not episode and one.get("fact"):
        url = space_url("facts:detail", space, pk=one["fact"])
    return Source(
        text=str(one.get("quote") or ""),
        by=one.get("by") or (fact.said_by if fact else ""),
        where=short(str(episode.chat or episode), MAX_PLACE) if episode else "",
        url=url,
        when=parse_datetime(one.get("at") or "") or (episode.started_at if episode else None),
        lang=one.get("language") or (episode.language if episode else ""),
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
    """The message, or what stands around the quote when it is long. The quote is never cut."""
    at = text.index(quote)
    start, end = max(0, at - AROUND), at + len(quote) + AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
