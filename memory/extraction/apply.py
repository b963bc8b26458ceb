"""Write the tags of a reply to the memories; one that fails does not stop the others."""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from django.db import OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import notices, options, working
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.extraction import evidence, ingest, offers, propose, tags
from memory.extraction.propose import lore_line
from memory.extraction.tags import Split
from memory.facts.plans import Plan, schedule
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Fact, Message
from memory.text import normalise as text

log = logging.getLogger(__name__)

UNGROUNDED, PLAN = "ungrounded", "plan"
LORE_CONFIDENCE = 0.72
TAG_CONFIDENCE = 0.8
ABOUT_SPEAKER = ("user ", "the user ", "usuario ", "el usuario ", "la usuaria ")


class NotTaken(Exception):
    """A fact could not be written; its journal says why."""


@dataclass(frozen=True)
class Applied:
    """What became of one tag. `done` is None when the write failed; the reply goes on without."""

    tag: str
    content: str
    done: ChangeResult | None
    error: str = ""


@dataclass(frozen=True)
class Turn:
    """What a tag may rest on: the messages being answered and what people said just before."""

    chat: Chat
    message: Message
    heard: Sequence[Message]
    mode: str
    now: datetime | None


Write = Callable[[str, Turn], ChangeResult]


def apply(
    split: Split,
    *,
    chat: Chat,
    messages: Sequence[Message],
    mode: str = "",
    plans: Sequence[Plan] = (),
    now: datetime | None = None,
) -> list[Applied]:
    """Give every tag to its memory, in the order facts, events, note, context, preferences, lore.

    `plans` are those that the model noted by a tool.
    `messages` are those being answered, oldest first. What only repeats a tag that somebody typed,
    and what nobody here said, is not believed: it waits in quarantine (T-02, T-04).
    """
    work: list[tuple[str, str, Write]] = [
        *((tags.FACT, content, _fact) for content in split.facts),
        *((tags.CHAT, content, _event) for content in split.chat_facts),
        (tags.WORKING, split.working or "", _note),
        (tags.CONTEXT, split.context or "", _context),
        *((tags.USER, content, _preference) for content in split.preferences),
        ("lore", split.lore, _lore),
        *((PLAN, plan.text, partial(_plan, plan=plan)) for plan in plans),
    ]
    work = [entry for entry in work if entry[1]]
    # Most replies hold no tag; what was heard before is only read to check one.
    before = chats.short_term(chat, now=now, before=messages[0]) if work else []
    heard = [m for m in [*before, *messages] if m.role == Message.Role.USER]
    turn = Turn(chat, messages[-1], heard, mode, now)
    return [_attempt(tag, content, write, turn) for tag, content, write in work]


def _attempt(tag: str, content: str, write: Write, turn: Turn) -> Applied:
    reason = ""
    if tags.echoes(content, "\n".join(message.text for message in turn.heard)):
        reason = _("It only repeats a tag that somebody typed.")
    elif ingest.gate(turn.message, by="tag") == options.READ_ONLY:
        reason = _("What models note here is read only.")
    if reason:
        return Applied(tag, content, ChangeResult(None, outcome="refused", reason=reason))
    try:
        with transaction.atomic():
            return Applied(tag, content, write(content, turn))
    except OperationalError:
        # The database is gone or two replies crossed: the whole turn is tried again.
        raise
    except Exception as error:
        log.exception("a <%s> tag of the reply to message %s was lost", tag, turn.message.pk)
        return Applied(tag, content, None, error=type(error).__name__)


def _fact(content: str, turn: Turn) -> ChangeResult:
    return _learn(turn, content, subject=_subject(content, turn.message))


def _lore(content: str, turn: Turn) -> ChangeResult:
    return _learn(turn, lore_line(content), subject=Fact.LORE, kind=Fact.Kind.LORE)


def _plan(content: str, turn: Turn, *, plan: Plan) -> ChangeResult:
    """Keep the plan as a fact and have it said in this chat at its time."""
    now = turn.now or timezone.now()
    with history.change(by="tag", why="note a plan"):
        done = _learn(turn, content, subject=turn.message.author)
        if done.row and (done.changed or done.outcome in {"known", "again", "agreed"}):
            schedule(done.row, plan, chat=turn.chat, by="tag", now=now)
    return done


def _learn(turn: Turn, content: str, *, subject: str, kind: str = "fact") -> ChangeResult:
    """Hand it to ingest with the words it rests on; without any it is not believed."""
    source = evidence.find(content, turn.heard)
    message = source.message if source else turn.message
    candidate = propose.Candidate(
        content, source.quote if source else "", subject=subject, kind=kind, category="other",
        confidence=LORE_CONFIDENCE if kind == Fact.Kind.LORE else TAG_CONFIDENCE,
        language=text.detect_language(content) or message.language, mode=turn.mode, heard_as="lore",
    )  # fmt: skip
    if not source:
        return ingest.remember(message, candidate, by="tag", now=turn.now, suspicions=[UNGROUNDED])
    candidate = propose.as_heard(candidate, message.text)
    taken = ingest.take(message, candidate, by="tag", now=turn.now)
    if taken.line["outcome"] == ingest.OFFERED:
        offers.offer(message, replace(candidate, held=taken.line.get("held", "")))
    if taken.line["outcome"] == "error":
        raise NotTaken(taken.line["reason"])
    if taken.done:
        return taken.done
    row = Fact.objects.filter(pk=taken.line.get("fact") or 0).first()
    return ChangeResult(row, outcome=taken.line["outcome"])


def _event(content: str, turn: Turn) -> ChangeResult:
    if ingest.gate(turn.message, by="tag") == options.HOLD:
        # Nobody decides about an episode by itself: it is offered as what it says.
        return _learn(turn, content, subject="")
    source = evidence.find(content, turn.heard)
    return episodes.write(
        turn.chat.space,
        chat=turn.chat,
        body=content,
        by="tag",
        started_at=turn.now or turn.message.sent_at,
        participants=[turn.message.author],
        suspicions=[] if source else [UNGROUNDED],
    )


def _note(content: str, turn: Turn) -> ChangeResult:
    return working.write(turn.chat, text=content, by="tag", now=turn.now)


def _context(content: str, turn: Turn) -> ChangeResult:
    return chats.set_context(turn.chat, text=content, by="tag", now=turn.now)


def _preference(content: str, turn: Turn) -> ChangeResult:
    """Offer it to people: what stands in the system prompt is worded by a person."""
    source = evidence.find(content, turn.heard)
    if not source:
        return notices.set_aside(
            turn.chat.space, what="preference", text=text.clean(content), reasons=[UNGROUNDED]
        )
    offers.offer(source.message, ingest.wish(source.message, content, mode=turn.mode))
    return ChangeResult(None, outcome=ingest.OFFERED)


def _subject(content: str, message: Message) -> str:
    """Return the author when the words name them, or say "the user"; else nothing."""
    folded = text.fold(content)
    author = text.fold(message.author).strip()
    # Also "A Ana le gusta…" and "El perro de Ana…", as Spanish tells it.
    begins = rf"(?:a |(?:el|la|los|las) [^,;:]{{2,60}}? de )?{re.escape(author)}\b"
    named = bool(author) and re.match(begins, folded) is not None
    return message.author if named or folded.startswith(ABOUT_SPEAKER) else ""
