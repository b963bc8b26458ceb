"""Finding facts in what people say: once per message, in order, with a line for everything.

The database is the queue: a message without `ingested_at` waits, however many wait and whatever
dies. An error in one message is noted on it and never stops the next.
"""

import logging
from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory.extraction import changes_of_mind, dates, propose
from memory.facts import service as facts
from memory.guards.screening import screen
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Fact, Message, Space
from memory.text import normalise as text

log = logging.getLogger(__name__)

SHORTEST = 4
# A message that keeps failing is given up, with its errors on it.
ATTEMPTS = 5
# What a tag of the reply already took from the message is not taken again in other words.
TAKEN = 0.6

Complete = Callable[[str], str]


def waiting(space: Space, *, chat: Chat | None = None) -> QuerySet:
    """What nobody has looked through yet, oldest first. Imports bring their own facts."""
    rows = Message.objects.filter(space=space, role=Message.Role.USER, ingested_at=None)
    rows = rows.exclude(trace=Message.Trace.IMPORT)
    return (rows.filter(chat=chat) if chat else rows).order_by("pk")


def ingest_waiting(
    space: Space,
    *,
    chat: Chat | None = None,
    complete: Complete | None = None,
    now: datetime | None = None,
    until: int | None = None,
    limit: int = 1000,
) -> int:
    """Look through everything that waits, in order; how many were finished.

    `until` is the newest message to look at: a later one is first answered.
    """
    done, rows = 0, waiting(space, chat=chat)
    rows = rows.filter(pk__lte=until) if until else rows
    for message in rows.select_related("space", "chat", "episode")[:limit]:
        try:
            ingest(message, complete=complete, now=now)
            done += 1
        except Exception as error:
            log.exception("message %s could not be ingested", message.pk)
            _note_failure(message, error, now=now)
    return done


def ingest(
    message: Message, *, complete: Complete | None = None, now: datetime | None = None
) -> list[dict]:
    """Remember what the message says. The journal tells what was taken, what not, and why."""
    if message.ingested_at:
        return message.journal
    # Before the lock: a model takes its time.
    found, journal = _proposed(message, complete)
    with transaction.atomic():
        fresh = Message.objects.select_for_update().only("journal", "ingested_at")
        fresh = fresh.get(pk=message.pk)
        if fresh.ingested_at:  # another worker was faster
            return fresh.journal
        journal += [_take(message, one, now=now) for one in found]
        message.journal = [*fresh.journal, *journal]
        message.ingested_at = now or timezone.now()
        message.save(update_fields=["journal", "ingested_at"])
    return message.journal


def _proposed(message: Message, complete: Complete | None) -> tuple[list, list[dict]]:
    said = message.text.strip()
    if message.role != Message.Role.USER:
        return [], [{"outcome": "skipped", "reason": "not said by a person"}]
    if len(said) < SHORTEST or said.startswith("/"):
        return [], [{"outcome": "skipped", "reason": "too short" if said[:1] != "/" else "command"}]
    found = propose.propose(
        said,
        author=message.author,
        language=message.language,
        previous=_previous(message),
        listen=True,
        believe_at=message.space.options.believe_from,
        complete=complete,
    )
    return found, [] if found else [{"outcome": "skipped", "reason": "no fact in it"}]


def _previous(message: Message) -> str:
    """Return what someone else said just before in the same chat: an answer may need it."""
    before = Message.objects.filter(chat_id=message.chat_id, pk__lt=message.pk).order_by("-pk")
    last = before.only("text", "author", "role").first()
    return last.text if last and last.author != message.author else ""


def _take(message: Message, one: "propose.Candidate", *, now: datetime | None) -> dict:
    """Remember one fact; a failure is a line in the journal, not the end of the others."""
    try:
        with transaction.atomic():
            if taken := _already(message, one.text):
                return {"outcome": "skipped", "reason": "a tag took it", "fact": taken.pk}
            done, gone = _believe(message, one, now=now)
            if done.outcome == "new" and done.row.subject:
                facts.trim(message.space, subject=done.row.subject, by="system", now=now)
    except Exception as error:
        log.exception("a fact of message %s was not taken", message.pk)
        return {"outcome": "error", "reason": type(error).__name__}
    line = {"outcome": done.outcome, "reason": done.reason, "fact": done.row and done.row.pk}
    if gone:
        line["outcome"] = "superseded"
        line["before"] = [{"fact": old.pk, "text": old.text} for old in gone]
        line["changes"] = [str(done.change_id)]
    return {name: value for name, value in line.items() if value}


def _believe(
    message: Message, one: "propose.Candidate", *, now: datetime | None
) -> tuple[ChangeResult, list[Fact]]:
    """Remember it and let what it makes untrue give way: one change, taken back by one undo."""
    with history.change(by="extraction", why="remember"):
        done = _remember(message, one, now=now)
        is_believed = done.changed and done.row.status == Fact.Status.ACTIVE
        if not is_believed:
            return done, []
        return done, changes_of_mind.settle(done.row, message=message, by="extraction", now=now)


def _remember(message: Message, one: "propose.Candidate", *, now: datetime | None):
    known = _known(message, one)
    return facts.remember(
        message.space,
        text=one.text,
        by="extraction",
        # What the whole space knows already is strengthened there; what is new stays in its chat.
        chat=known.chat if known else message.chat,
        subject=known.subject if known else one.subject,
        quote=one.quote,
        kind=one.kind,
        category=one.category,
        confidence=one.confidence,
        language=one.language,
        mode=one.mode,
        message=message,
        episode=message.episode,
        said_by=message.author,
        **dates.times_of(
            one.quote,
            said_at=message.sent_at,
            zone=message.space.zone,
            language=one.language,
            kind=one.heard_as,
        ),
        suspicions=screen(message.text).reasons,
        now=now,
    )


def _known(message: Message, one: "propose.Candidate") -> Fact | None:
    same = Fact.objects.in_scope(message.chat).live().filter(said_key=text.said_key(one.text))
    return same.order_by("chat_id").first()


def _already(message: Message, said: str) -> Fact | None:
    """What the reply's tags took from this very message, in its words or others."""
    mine = text.stems(said)
    for fact in Fact.objects.filter(message=message, written_by="tag", status=Fact.Status.ACTIVE):
        theirs = text.stems(fact.text)
        if text.said_key(said) == fact.said_key or text.jaccard(mine, theirs) >= TAKEN:
            return fact
    return None


def _note_failure(message: Message, error: Exception, *, now: datetime | None) -> None:
    with transaction.atomic():
        fresh = Message.objects.select_for_update().get(pk=message.pk)
        line = {"outcome": "error", "reason": type(error).__name__}
        fresh.journal = [*fresh.journal, line]
        failures = sum(one.get("outcome") == "error" for one in fresh.journal)
        if failures >= ATTEMPTS:
            fresh.journal.append({"outcome": "skipped", "reason": "given up"})
            fresh.ingested_at = now or timezone.now()
        fresh.save(update_fields=["journal", "ingested_at"])
