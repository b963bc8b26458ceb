"""Offer what was heard and is not sure enough to a person, who saves it or leaves it.

An offer is a line in its message's journal.
"""

from dataclasses import fields
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from memory.extraction import ingest
from memory.extraction.ingest import OFFERED
from memory.extraction.propose import Candidate
from memory.history import actors
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.identity import preferences, rules
from memory.models import Message
from memory.spaces.chat_links import whom
from memory.text import normalise as text

DECLINED = "declined"


class NoOffer(ValueError):
    """This is not offered any more: somebody decided it."""

    def __str__(self):
        return str(_("This is not offered any more: somebody decided it."))


def offer(message: Message, candidate: Candidate) -> None:
    """Write the offer into the message's journal, once."""
    with transaction.atomic():
        fresh = Message.objects.select_for_update().only("journal").get(pk=message.pk)
        line = ingest.offer_line(candidate).line
        texts = {other.get("text") for other in fresh.journal}
        if line["outcome"] == OFFERED and line["text"] not in texts:
            fresh.journal = [*fresh.journal, line]
            fresh.save(update_fields=["journal"])
        message.journal = fresh.journal


def of_message(message: Message) -> list[tuple[int, dict]]:
    """Return what is offered, or was declined, with its place in the journal."""
    lines = enumerate(message.journal)
    return [(place, line) for place, line in lines if line.get("outcome") in (OFFERED, DECLINED)]


@transaction.atomic
def save(
    message: Message, place: int, *, by: str, words: str = "", now: datetime | None = None
) -> ChangeResult:
    """Remember what was offered, because a person says so; a wish becomes its speaker's preference.

    It stays the speaker's fact in its chat, which their later words may change; `words` is the
    person's own wording of it.
    """
    actors.require_person(by)
    line = _offer_line(message, place, OFFERED)
    line |= {"text": words or line["text"]}
    with history.change(by=by, why="save an offer"):
        how: dict[str, Any] = {"by": by, "now": now} | whom(message)
        if line.get("category") == ingest.LIMIT:
            done = rules.put(message.space, instruction=line["text"], category="limits", **how)
        elif line["kind"] == ingest.WISH:
            section = text.short(text.one_line(line.get("subject", "")), 40)
            done = preferences.learn(message.space, sentence=line["text"], section=section, **how)
        else:
            names = [field.name for field in fields(Candidate) if field.name in line]
            candidate = Candidate(**{"subject": ""} | {name: line[name] for name in names})
            done = ingest.remember(message, candidate, by="extraction", suspicions=[], now=now)
            if candidate.remind and done.row:
                ingest.remind(message, candidate, done.row, now=now)
    if done.row is not None:
        saved = {done.row._meta.model_name: done.row.pk}
        _rewrite(message, place, line | saved | {"outcome": "saved", "by": by})
    return done


def decline(message: Message, place: int, *, by: str) -> ChangeResult:
    """Leave it; `offer_again` takes that back."""
    return _turn_offer(message, place, OFFERED, DECLINED, by=by)


def offer_again(message: Message, place: int, *, by: str) -> ChangeResult:
    return _turn_offer(message, place, DECLINED, OFFERED, by=by)


@transaction.atomic
def _turn_offer(message: Message, place: int, was: str, outcome: str, *, by: str) -> ChangeResult:
    actors.require_person(by)
    line = _offer_line(message, place, was)
    _rewrite(message, place, line | {"outcome": outcome, "by": by})
    return ChangeResult(message, outcome="done")


def _offer_line(message: Message, place: int, outcome: str) -> dict:
    """Return the line as it is now, under a lock; NoOffer when it was decided meanwhile."""
    message.refresh_from_db(
        fields=["journal"], from_queryset=Message.objects.select_for_update(of=("self",))
    )
    lines = message.journal
    if not 0 <= place < len(lines) or lines[place].get("outcome") != outcome:
        raise NoOffer
    return lines[place]


def _rewrite(message: Message, place: int, line: dict) -> None:
    message.journal = [*message.journal[:place], line, *message.journal[place + 1 :]]
    message.save(update_fields=["journal"])
