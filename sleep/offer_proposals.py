"""What chats offered and nobody decided there is proposed, a few a day."""

from collections.abc import Iterable
from datetime import datetime, time, timedelta

from django.utils.translation import gettext_noop as N_

from memory.extraction import ingest, offers
from memory.guards.screening import suspicions
from memory.models import Message, Space
from sleep import proposals
from sleep.models import Night, Proposal, sentence
from sleep.proposals import GATED, OFFER

# So many a day; what was said longer ago is not asked about any more.
MAX_OFFERS, OFFERS_SINCE = 5, timedelta(days=14)
OFFER_FIELDS = ("subject", "kind", "category", "confidence", "quote", "language")


def propose_offers(space: Space, *, now: datetime, night: Night | None = None) -> int:
    """Put before people what chats offered and nobody decided, the surest first; how many.

    Never more than MAX_OFFERS on one day of the space, whatever is said.
    """
    begin = datetime.combine(space.local_date(now), time.min, space.zone)
    today = Proposal.objects.filter(space=space, created_at__gte=begin, created_at__lte=now)
    asked = today.filter(flags__contains=[OFFER]).exclude(flags__contains=[GATED])
    room = MAX_OFFERS - asked.count()
    waiting = Message.objects.filter(
        space=space, sent_at__gt=now - OFFERS_SINCE, journal__contains=[{"outcome": ingest.OFFERED}]
    )
    found = [
        (message, place, line)
        for message in waiting.select_related("chat")
        for place, line in offers.of_message(message)
        if line["outcome"] == ingest.OFFERED and not suspicions(message.flags)
    ]
    made = 0
    known = proposals.known_keys(space, [offer_key(message, place) for message, place, _ in found])
    for message, place, line in sorted(found, key=lambda one: -one[2].get("confidence", 0)):
        is_asked = offer_key(message, place) in known
        if is_asked or (made >= room and not line.get("held")):
            continue
        made += propose_offer(message, place, line, night=night, now=now) is not None
    return made


def propose_held(messages: Iterable[Message], *, now: datetime) -> int:
    """Put before people at once what these messages said and a gate holds; how many."""
    found = [
        propose_offer(message, place, line, now=now)
        for message in messages
        for place, line in offers.of_message(message)
        if line["outcome"] == ingest.OFFERED and line.get("held")
    ]
    return sum(made is not None for made in found)


def propose_offer(
    message: Message, place: int, line: dict, *, now: datetime, night: Night | None = None
) -> Proposal | None:
    is_wish, held = line["kind"] == ingest.WISH, line.get("held", "")
    unsure = N_("Heard in a chat, but not surely enough to be believed.")
    named = {name: line[name] for name in OFFER_FIELDS if name in line and not is_wish}
    return proposals.propose(
        message.space,
        _kind_of_offer(line),
        key=offer_key(message, place),
        after={"text": line["text"], "offer": [message.pk, place]} | named,
        title=line["text"],
        rationale=sentence(N_("What comes this way is held for you.") if held else unsure),
        evidence=[{"message": message.pk, "quote": line.get("quote", "")}],
        confidence=line.get("confidence", 0.5),
        flags=[OFFER, *([GATED] if held else [])],
        mode=f"{proposals.GATE_SOURCE}{held}" if held else "",
        night=night,
        created_at=now,
    )


def _kind_of_offer(line: dict) -> str:
    if line["kind"] != ingest.WISH:
        return Proposal.Kind.ADD
    is_limit = line.get("category") == ingest.LIMIT
    return Proposal.Kind.RULE if is_limit else Proposal.Kind.PREFERENCE


def offer_key(message: Message, place: int) -> str:
    return proposals.key("offer", message.pk, place)


def offer_decided(message: Message, place: int) -> None:
    """The chip under the message decided it: nobody is asked again."""
    waiting = Proposal.objects.filter(space=message.space_id, key=offer_key(message, place))
    waiting.filter(status=Proposal.Status.PENDING).update(status=Proposal.Status.EXPIRED)
