"""Propose what chats offered and nobody decided there, a few a day."""

from collections.abc import Iterable, Iterator
from datetime import datetime, time, timedelta

from django.utils.translation import gettext_noop as N_

from memory.extraction import ingest, offers
from memory.guards.screening import suspicions
from memory.models import Message, Space
from sleep import proposals
from sleep.models import Night, Proposal, sentence
from sleep.proposals import GATED, OFFER

# How many a day, and how old the words may be.
MAX_OFFERS, OFFERS_SINCE = 5, timedelta(days=14)
OFFER_FIELDS = ("subject", "kind", "category", "confidence", "quote", "language")


def propose_offers(space: Space, *, now: datetime, night: Night | None = None) -> int:
    """Propose what chats offered and nobody decided, the surest first; return how many.

    Never more than MAX_OFFERS on one day of the space, whatever is said.
    """
    begin = datetime.combine(space.local_date(now), time.min, space.zone)
    today = Proposal.objects.filter(space=space, created_at__gte=begin, created_at__lte=now)
    asked = today.filter(flags__contains=[OFFER]).exclude(flags__contains=[GATED])
    room = MAX_OFFERS - asked.count()
    messages = Message.objects.filter(
        space=space, sent_at__gt=now - OFFERS_SINCE, journal__contains=[{"outcome": ingest.OFFERED}]
    )
    offered = _open_offers(messages.select_related("chat"))
    rows = [row for row in offered if not suspicions(row[0].flags)]
    made = 0
    known = proposals.known_keys(space, [offer_key(message, place) for message, place, _ in rows])
    for message, place, line in sorted(rows, key=lambda row: -row[2].get("confidence", 0)):
        is_known = offer_key(message, place) in known
        if is_known or (made >= room and not line.get("held")):
            continue
        made += propose_offer(message, place, line, night=night, now=now) is not None
    return made


def propose_held(messages: Iterable[Message], *, now: datetime) -> int:
    """Propose at once what a gate holds of these messages; return how many."""
    rows = [row for row in _open_offers(messages) if row[2].get("held")]
    return sum(propose_offer(*row, now=now) is not None for row in rows)


def _open_offers(messages: Iterable[Message]) -> Iterator[tuple[Message, int, dict]]:
    for message in messages:
        for place, line in offers.of_message(message):
            if line["outcome"] == ingest.OFFERED:
                yield message, place, line


def propose_offer(
    message: Message, place: int, line: dict, *, now: datetime, night: Night | None = None
) -> Proposal | None:
    kind, held, fields = Proposal.Kind.ADD, line.get("held", ""), {}
    if line["kind"] == ingest.WISH:
        is_limit = line.get("category") == ingest.LIMIT
        kind = Proposal.Kind.RULE if is_limit else Proposal.Kind.PREFERENCE
    else:
        fields = {name: line[name] for name in OFFER_FIELDS if name in line}
    unsure = N_("Heard in a chat, but not surely enough to be believed.")
    return proposals.propose(
        message.space,
        kind,
        key=offer_key(message, place),
        after={"text": line["text"], "offer": [message.pk, place]} | fields,
        title=line["text"],
        rationale=sentence(N_("What comes this way is held for you.") if held else unsure),
        evidence=[{"message": message.pk, "quote": line.get("quote", "")}],
        confidence=line.get("confidence", 0.5),
        flags=[OFFER, *([GATED] if held else [])],
        mode=f"{proposals.GATE_SOURCE}{held}" if held else "",
        night=night,
        created_at=now,
    )


def offer_key(message: Message, place: int) -> str:
    return proposals.key("offer", message.pk, place)


def offer_decided(message: Message, place: int) -> None:
    """Stop asking about an offer that was decided under its message."""
    waiting = Proposal.objects.filter(space=message.space_id, key=offer_key(message, place))
    waiting.filter(status=Proposal.Status.PENDING).update(status=Proposal.Status.EXPIRED)
