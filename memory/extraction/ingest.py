"""Learn from messages: each is read once, and what it says that lasts becomes facts.

The database is the queue: a message without `ingested_at` waits, however many wait and whatever
dies. An error in one message is noted on it and never stops the next. What a model writes in the
tags of a reply comes through the same door (`take`). What a chat said stays in that chat: only a
person makes the whole space know it.
"""

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.db import OperationalError, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils import timezone

from memory import options, people
from memory.calendar import timing
from memory.episodes import service as episodes
from memory.extraction import changes_of_mind, corrections, evidence, intents, propose
from memory.extraction.propose import Candidate
from memory.facts import plans
from memory.facts import service as facts
from memory.guards import limits
from memory.guards.inspect import REDACTED
from memory.guards.screening import ORDERS, screen
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Fact, Message, Space, encryption
from memory.models.prepared import prepared, save_fields
from memory.models.space import clear_turn_cache
from memory.spaces.chat_links import said_by_same
from memory.text import normalise as text
from memory.vectors import likeness

log = logging.getLogger(__name__)

MIN_LENGTH = 4
MOST_AT_ONCE = 1000
# A message that keeps failing is given up, with its errors on it.
ATTEMPTS = 5
# The newest facts about a subject that a new one may only repeat.
MAX_COMPARED = 60
# The reason in the journal when a call of a model was saved.
NOT_ASKED = "nothing to ask a model about"
# What is offered to a person; a wish about Keno ("answer me in French") is never more.
OFFERED = "offered"
WISH = "wish"
MAX_WISHES = 2
# What Keno may not do without asking: saved, it is a rule.
LIMIT = "limit"
A_FEW_MINUTES = timedelta(minutes=10)
_READERS = ThreadPoolExecutor(2, thread_name_prefix="read")

Complete = Callable[[str], str]


class Taken(NamedTuple):
    """What became of one candidate: its line in the journal, and the change if there was one."""

    line: dict
    done: ChangeResult | None = None


def waiting(space: Any, *, chat: Any = None) -> QuerySet:
    """Return what was not looked through yet, oldest first. Imports bring their own facts."""
    rows = Message.objects.filter(space=space, role=Message.Role.USER, ingested_at=None)
    rows = rows.exclude(trace=Message.Trace.IMPORT)
    return (rows.filter(chat=chat) if chat else rows).order_by("pk")


def waiting_in(chat: Chat, *, until: int) -> list[Message]:
    """Return what waits in one chat up to this message: a later one is first answered."""
    messages = _waiting_in(space=chat.space_id, chat=chat.pk, until=until)
    for message in messages:
        message.chat, message.space = chat, chat.space
    return messages


@prepared(space="bigint", chat="bigint", until="bigint")
def _waiting_in(space, chat, until):
    return waiting(space, chat=chat).filter(pk__lte=until)[:MOST_AT_ONCE]


def ingest_waiting(
    space: Space,
    *,
    chat: Chat | None = None,
    complete: Complete | None = None,
    now: datetime | None = None,
    limit: int = MOST_AT_ONCE,
    within: float | None = None,
) -> int:
    """Put what waits into its episode and look through it, in order; return the count finished.

    What cannot be read `within` that many seconds is left for later, with all that comes after it.
    """
    rows = waiting(space, chat=chat).select_related("space", "chat__space")[:limit]
    return len(read(rows, complete=complete, now=now, within=within))


def read(rows: Iterable[Message], *, within: float | None = None, **how: Any) -> list[Message]:
    """Look through these messages, in order; return those that were finished."""
    done = []
    for message in rows:
        try:
            ingest(message, within=within, place=True, **how)
            done.append(message)
        except TimeoutError:
            break
        except Exception as error:
            log.exception("message %s could not be ingested", message.pk)
            clear_turn_cache()
            _note_failure(message, error, now=how.get("now"))
    return done


def ingest(
    message: Message,
    *,
    complete: Complete | None = None,
    now: datetime | None = None,
    within: float | None = None,
    place: bool = False,
) -> list[dict]:
    """Remember what the message says; return its journal: what was taken, what not, and why.

    With `place` it is put into its episode, too.
    """
    if message.ingested_at:
        return message.journal
    # Before the lock: a model takes its time.
    candidates, journal = _propose(message, complete, within=within, now=now)
    try:
        return _learn(message, candidates, journal, place=place, now=now, apart=False)
    except OperationalError:
        raise
    except Exception:
        # One of the facts may be at fault: now each by itself, so that the others are kept.
        clear_turn_cache()
        return _learn(message, candidates, journal, place=place, now=now, apart=True)


@transaction.atomic
def _learn(
    message: Message,
    candidates: list[Candidate],
    journal: list[dict],
    *,
    place: bool,
    now: datetime | None,
    apart: bool,
) -> list[dict]:
    fresh = next(iter(_locked(message=message.pk)), None)
    if fresh is None:  # erased meanwhile
        return []
    message.episode_id = fresh.episode_id
    if fresh.ingested_at:  # another worker was faster
        message.journal, message.ingested_at = fresh.journal, fresh.ingested_at
        return fresh.journal
    if place and not message.episode_id:
        episodes.find(message, by="bot", likeness=likeness.topic)
    people.speaker(message)
    how = take if apart else _take
    taken = [how(message, candidate, by="extraction", now=now).line for candidate in candidates]
    message.journal = [*fresh.journal, *journal, *taken]
    message.ingested_at = now or timezone.now()
    # What is heard as a statement is memory, also inside of a question.
    message.not_recalled = "" if candidates else intents.not_memory(message.text)
    save_fields(message, "journal", "ingested_at", "not_recalled", "episode")
    return message.journal


@prepared(message="bigint")
def _locked(message):
    rows = Message.objects.select_for_update().only("journal", "ingested_at", "episode_id")
    return rows.filter(pk=message)


def decide_recall(*, limit: int = 2000) -> int:
    """Decide which old and imported messages are memory; return how many were decided."""
    waits = Q(role=Message.Role.USER, ingested_at=None) & ~Q(trace=Message.Trace.IMPORT)
    undecided = Message.objects.filter(not_recalled=None).exclude(waits).order_by("pk")
    rows = list(undecided.select_related("reply_to")[:limit])
    answered = Message.objects.filter(chat__in={row.chat_id for row in rows}, role="assistant")
    with_keno = set(answered.values_list("chat", flat=True).distinct())
    for row in rows:
        row.not_recalled = _not_recalled(row, to_keno=row.chat_id in with_keno)
    Message.objects.bulk_update(rows, ["not_recalled"], batch_size=500)
    return len(rows)


def _not_recalled(message: Message, *, to_keno: bool) -> str:
    if message.role == Message.Role.ASSISTANT:
        return not_recalled_reply(message.text, to=message.reply_to)
    if Fact.objects.filter(message=message).exists():
        return ""
    return intents.not_memory(message.text, to_keno=to_keno)


def not_recalled_reply(reply: str, *, to: Message | None, built_in: bool = False) -> str:
    """Return why a reply of Keno is not memory, or nothing.

    Without a language model it only quotes what is remembered already.
    """
    reason = intents.not_memory(to.text) if to else ""
    if reason == Message.NotRecalled.COMMAND and not built_in:
        return reason
    formula = built_in or reason == Message.NotRecalled.SMALL_TALK or intents.is_formula(reply)
    return Message.NotRecalled.OWN_WORDS if formula else ""


def take(
    message: Message, candidate: Candidate, *, by: str = "extraction", now: datetime | None = None
) -> Taken:
    """Remember one fact; a failure is a line in the journal, not the end of the others."""
    try:
        with transaction.atomic():
            return _take(message, candidate, by=by, now=now)
    except OperationalError:
        # The database is gone or two writers crossed: the whole of it is tried again.
        raise
    except Exception as error:
        log.exception("a fact of message %s was not taken", message.pk)
        return Taken({"outcome": "error", "reason": type(error).__name__})


def learned_from(messages: Iterable[Message]) -> list[dict]:
    """Return the lines of their journals about what is believed now and was not before."""
    lines = [line for message in messages for line in message.journal]
    return [line for line in lines if line.get("changes") and line.get("fact")]


def _propose(
    message: Message, complete: Complete | None, *, within: float | None, now: datetime | None
) -> tuple[list[Candidate], list[dict]]:
    words = message.text.strip()
    reason = NOT_ASKED if complete else "no fact in it"
    if message.role != Message.Role.USER:
        reason = "not said by a person"
    elif words.startswith("/"):
        reason = "command"
    elif len(words) < MIN_LENGTH:
        reason = "too short"
    else:
        read_it = _reader(message, words, complete)
        stated = read_it() if within is None else _READERS.submit(read_it).result(timeout=within)
        if candidates := _with_corrections(message, stated, now=now):
            return candidates, []
    return [], [{"outcome": "skipped", "reason": reason}]


def _reader(
    message: Message, words: str, complete: Complete | None
) -> Callable[[], list[Candidate]]:
    """Return what reads the words; the database is asked here, in the thread that has it."""
    return partial(
        propose.read,
        words,
        author=evidence.speaker(message),
        language=message.language,
        previous=_previous(message),
        people=evidence.known_names(message),
        earlier=_earlier(message) if propose.speaks_of_somebody(words) else "",
        believe_at=message.space.options.believe_from,
        offer_at=message.space.options.offer_from,
        complete=complete,
    )


def _with_corrections(
    message: Message, stated: list[Candidate], *, now: datetime | None
) -> list[Candidate]:
    """Return what is stated, as it mends what was told before, with reminders and wishes."""
    stated = [c for c in stated if not _is_wish(c) and REDACTED not in c.quote]
    # "No, she lives in Lima" states nothing alone: it mends what was noted a moment ago.
    whole = [candidate for candidate in stated if not corrections.is_part(candidate, message)]
    reminders = _reminders(message)
    # What is to be said on Friday is one plan, however else it may be heard.
    apart = [c for c in whole if not corrections.is_quoted(c.quote, reminders)]
    mended = corrections.read(message, apart, now=now) or corrections.apply_last_values(
        message, apart or corrections.strip_lead(stated)
    )
    return [*reminders, *mended, *_wishes(message, stated)]


def _previous(message: Message) -> str:
    """Return what someone else said just before in the same chat: an answer may need it."""
    last = next(iter(_before(chat=message.chat_id, message=message.pk)), None)
    if last is None:
        return ""
    if last.role == Message.Role.ASSISTANT and "?" not in last.text:
        # "Noted: …" asks nothing that could be answered.
        return ""
    is_same = last.role == message.role and last.author_id == message.author_id
    return "" if is_same and last.author == message.author else last.text


@prepared(chat="bigint", message="bigint")
def _before(chat, message):
    before = Message.objects.filter(chat=chat, pk__lt=message).order_by("-pk")
    return before.only("text", "author", "author_id", "role")[:1]


def _earlier(message: Message) -> str:
    """Return what the same person told here a few minutes before: "she" is whom that was about."""
    since = message.sent_at - A_FEW_MINUTES
    own = Message.objects.filter(said_by_same(message), chat=message.chat, role=message.role)
    own = own.filter(pk__lt=message.pk, sent_at__gte=since, silenced_by=None, not_recalled="")
    return own.order_by("-pk").values_list("text", flat=True).first() or ""


def _is_wish(candidate: Candidate) -> bool:
    """Return whether it only asks something of Keno: "Answer me in French"."""
    asks = candidate.text == candidate.quote and candidate.quote in intents.manners(candidate.quote)
    return asks or limits.is_limit(candidate.quote)


def _reminders(message: Message) -> list[Candidate]:
    """Return plans to be said at their time: "Remind me to call the dentist at 9"."""
    candidates = []
    for line in intents.sentences(message.text):
        words = text.one_line(intents.reminder(line))
        said_at = message.sent_at.astimezone(message.space.zone)
        plan = plans.read(words, said_at=said_at, language=message.language)
        plan_text = plan.text if plan else words[:1].upper() + words[1:]
        if len(plan_text.split()) > 1:
            asked = _asked_for(message, line, Fact.Kind.FACT, Fact.Category.OTHER)
            asked = replace(asked, text=plan_text, quote=line.strip(), heard_as="plan")
            candidates.append(replace(asked, remind=plan is not None))
    return candidates


def _wishes(message: Message, candidates: list[Candidate]) -> list[Candidate]:
    """Return how the person wants Keno to talk: never a fact, nor obeyed until they say so."""
    bounds = [line for line in intents.statements(message.text) if limits.is_limit(line)]
    manners = intents.manners(message.text)
    manners = [line for line in manners if not corrections.is_quoted(line, candidates)]
    several = list(dict.fromkeys([*bounds, *manners]))
    return [wish(message, line) for line in several[:MAX_WISHES]]


def wish(message: Message, line: str, *, mode: str = propose.HEURISTICS) -> Candidate:
    category = LIMIT if limits.is_limit(line) else "preference"
    return replace(_asked_for(message, line, WISH, category), mode=mode, believed=False)


def _asked_for(message: Message, line: str, kind: str, category: str) -> Candidate:
    """Return what the speaker asks of Keno in so many words."""
    return Candidate(
        line, line, subject=evidence.speaker(message), kind=kind, category=category,
        confidence=0.9, language=message.language, mode=propose.HEURISTICS,
    )  # fmt: skip


def gate(message: Message, *, by: str = "extraction") -> str:
    """Return what the space does with what comes by this channel and, of a model, by tags."""
    ways = [message.chat.channel, *(["tags"] if by == "tag" else [])]
    return options.gate(message.space.options, *ways)


def _take(message: Message, candidate: Candidate, *, by: str, now: datetime | None) -> Taken:
    policy = gate(message, by=by)
    if policy == options.READ_ONLY:
        return Taken({"outcome": "skipped", "reason": "read only"})
    if evidence.is_forwarded(message):
        candidate = replace(candidate, believed=False)
    if policy == options.HOLD:
        candidate = replace(
            candidate, believed=False, held=message.chat.channel if by != "tag" else "tags"
        )
    fact = None if candidate.replaces or candidate.kind == WISH else _find_known(message, candidate)
    if fact:
        return _repeat(message, candidate, fact, by=by, now=now)
    if not candidate.believed:
        return offer_line(candidate)
    done, gone = _believe(message, candidate, by=by, now=now)
    if done.outcome == "new" and done.row.subject:
        facts.trim(message.space, subject=done.row.subject, by="system", now=now)
    line = {"outcome": done.outcome, "reason": done.reason, "fact": done.row and done.row.pk}
    if done.changed:
        line["changes"] = [str(done.change_id)]
    if gone:
        line["outcome"] = "superseded"
        line["before"] = [{"fact": old.pk, "text": old.text} for old in gone]
    return Taken({name: value for name, value in line.items() if value}, done)


def offer_line(candidate: Candidate) -> Taken:
    """Offer it, unless it sounds like an attack; a wish about Keno is an order by its nature."""
    if screen(candidate.text, ignore=ORDERS if candidate.kind == WISH else frozenset()).reasons:
        return Taken({"outcome": "skipped", "reason": "suspicious"})
    # What saving the offer writes; it is shown to people, so without secrets.
    line = {name: value for name, value in asdict(candidate).items() if value}
    line.pop("believed", None)
    line |= {name: screen(line[name]).text for name in ("text", "quote")}
    return Taken({"outcome": OFFERED, **line})


def _believe(
    message: Message, candidate: Candidate, *, by: str, now: datetime | None
) -> tuple[ChangeResult, list[Fact]]:
    """Remember it and let what it makes untrue give way: one change, taken back by one undo."""
    with history.change(by=by, why="remember"):
        done = remember(message, candidate, by=by, now=now)
        if done.changed and candidate.remind:
            remind(message, candidate, done.row, now=now)
        if not done.changed or done.row.status != Fact.Status.ACTIVE:
            return done, []
        gone = changes_of_mind.settle(done.row, message=message, by=by, now=now)
        for old in _facts_replaced(candidate.replaces, by=done.row) if candidate.replaces else ():
            until = message.sent_at
            replaced = facts.supersede(old, by=by, new=done.row, until=until, now=now)
            gone += [old] if replaced.changed else []
        for old in gone:
            whole = timing.with_month(done.row.text, before=old.text, language=candidate.language)
            if whole != done.row.text:
                facts.revise(
                    done.row, by=by, text=whole, now=now, **_times(message, candidate, whole)
                )
        return done, gone


def _facts_replaced(number: int, *, by: Fact) -> list[Fact]:
    """Return the fact of this number, with those that rest on the same words."""
    rows = Fact.objects.live().exclude(pk=by.pk)
    old = rows.filter(pk=number).first()
    if old is None:
        return []
    beside = rows.filter(message=old.message_id).exclude(pk=old.pk) if old.message_id else ()
    return [old, *(fact for fact in beside if old.quote in fact.text or fact.quote in old.text)]


def remind(message: Message, candidate: Candidate, fact: Fact, *, now: datetime | None) -> None:
    words = intents.reminder(candidate.quote)
    plans.of_message(fact, message, words, now=now or timezone.now())


def remember(
    message: Message, candidate: Candidate, *, by: str, now: datetime | None = None, **more: Any
) -> ChangeResult:
    """Write the fact into the message's chat."""
    if evidence.is_forwarded(message):
        more = {"trust": evidence.FORWARDED_TRUST} | more
    return facts.remember(
        message.space,
        text=candidate.text,
        by=by,
        chat=message.chat,
        subject=candidate.subject,
        quote=candidate.quote,
        kind=candidate.kind,
        category=candidate.category,
        confidence=candidate.confidence,
        language=candidate.language,
        mode=candidate.mode,
        message=message,
        episode=message.episode,
        said_by=evidence.speaker(message),
        # A correction names only what is new: "no, Friday".
        **_times(message, candidate, candidate.text if candidate.replaces else candidate.quote),
        now=now,
        **{"suspicions": screen(message.text).reasons} | more,
    )


def _times(message: Message, candidate: Candidate, words: str) -> dict[str, datetime | None]:
    zone = message.space.zone
    return timing.times_of(
        words,
        said_at=message.sent_at,
        zone=zone,
        language=candidate.language,
        kind=candidate.heard_as,
    )


def _find_known(message: Message, candidate: Candidate) -> Fact | None:
    """Return what this chat knows already that says the same, in these words or others."""
    here = {"space": message.space_id, "chat": message.chat_id}
    said_keys = encryption.stored_forms(text.said_key(candidate.text))
    same = next(iter(_same_words(**here, said_keys=said_keys)), None)
    if not same and candidate.remind:
        # The model noted it by a tool before it was read here.
        rows = Fact.objects.in_scope(message.chat).live().select_related("message__chat")
        same = rows.filter(message=message, reminder__isnull=False).first()
    if same:
        return same
    for fact in _facts_to_compare(**here, message=message.pk, subject=candidate.subject):
        of_this = fact.message_id == message.pk
        if propose.is_same_fact(
            fact.text, candidate.text, subject=candidate.subject, by_meaning=of_this
        ):
            return Fact.objects.live().select_related("message__chat").filter(pk=fact.pk).first()
    return None


@prepared(space="bigint", chat="bigint", said_keys="text[]")
def _same_words(space, chat, said_keys):
    rows = Fact.objects.known_in(space, chat).live().select_related("message__chat")
    return rows.filter(said_key__any_of=said_keys).order_by("chat_id", "pk")[:1]


@prepared(space="bigint", chat="bigint", message="bigint", subject="varchar")
def _facts_to_compare(space, chat, message, subject):
    """Return what the message said, and what else is known of the same person here."""
    rows = Fact.objects.known_in(space, chat).live().only("space", "message", "text")
    of_message = Q(message=message)
    rows = rows.filter(of_message | Q(subject=subject, chat=chat))
    # First its own: it may be read long after its reply, with much learned between them.
    own_first = ExpressionWrapper(of_message, BooleanField()).desc(nulls_last=True)
    return rows.order_by(own_first, "-last_seen_at", "-pk")[:MAX_COMPARED]


def _repeat(
    message: Message, candidate: Candidate, fact: Fact, *, by: str, now: datetime | None
) -> Taken:
    """Strengthen what its own speaker surely says again here; what others or the space know stays
    as it is, or the private words of one chat would show in another."""
    if not candidate.believed or fact.chat_id != message.chat_id or not _is_of(message, fact):
        return Taken({"outcome": "known", "fact": fact.pk})
    if fact.message_id == message.pk:
        # Two readers of one message agree: surer, but said once.
        sure = round(1 - (1 - fact.confidence) * (1 - candidate.confidence), 3)
        done = facts.revise(fact, by=by, confidence=max(sure, fact.confidence), now=now)
        return Taken({"outcome": "agreed", "fact": fact.pk}, done)
    repeated = replace(candidate, text=fact.text, subject=fact.subject)
    done = remember(message, repeated, by=by, now=now)
    if candidate.remind:
        remind(message, candidate, fact, now=now)
    return Taken({"outcome": done.outcome, "fact": fact.pk}, done)


def _is_of(message: Message, fact: Fact) -> bool:
    if fact.message_id is None:
        return False
    return Message.objects.filter(said_by_same(message), pk=fact.message_id).exists()


def _note_failure(message: Message, error: Exception, *, now: datetime | None) -> None:
    with transaction.atomic():
        rows = Message.objects.select_for_update(of=("self",)).select_related("chat__space")
        fresh = rows.get(pk=message.pk)
        if not fresh.episode_id:
            episodes.find(fresh, by="bot")
        line = {"outcome": "error", "reason": type(error).__name__}
        fresh.journal = [*fresh.journal, line]
        failures = sum(entry.get("outcome") == "error" for entry in fresh.journal)
        if failures >= ATTEMPTS:
            fresh.journal.append({"outcome": "skipped", "reason": "given up"})
            fresh.ingested_at = now or timezone.now()
        fresh.save(update_fields=["journal", "ingested_at", "episode"])
