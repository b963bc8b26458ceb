"""Questions below a reply, answered by a yes or no: is it still true, and shall it be forgotten?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from bot.commands.asked import Answer, CommandCall, command, ended, forgotten, sentence_for
from bot.commands.knowledge import facts_in_reach, not_found, numbered
from memory.calendar import timing
from memory.extraction.wording import told_to
from memory.facts import lasting
from memory.facts import service as facts
from memory.history.changes import ChangeResult
from memory.models import Chat, Fact, Message
from memory.spaces.chat_links import said_by_same
from memory.text.normalise import fold

ASKED, FORGET = "asked", "forget"
_YES = re.compile(
    r"(?:yes|yep|yeah|still|of course|sure|correct|si|claro|sigue igual|todavia|asi es|exacto|igual"
    r"|correcto|it is|i do|he does|she does|they do)"
    r"(?: (?:still|claro|todavia|so|i do|it is|i still do|still do|sigue igual|asi es))*"
)
_NO = re.compile(
    r"(?:no|nope|not any ?more|no longer|ya no|no,? ya no|no,? not any ?more|no,? no longer|nah)"
)
_DO = re.compile(
    r"(?:yes|yep|yeah|sure|of course|ok|okay|please|please do|do it|go ahead|forget it|si|claro"
    r"|vale|por favor|adelante|hazlo|olvidalo)"
    r"(?: (?:please|forget it|por favor|olvidalo|do it|hazlo))*"
)
_WORD = re.compile(r"[\s.,!¡¿?…]+")
# "No, now I work at Acme": the answer stands before the first comma.
_FIRST = re.compile(r"[^,.;:!—–]+(?=[,.;:!—–])")


@command(
    "true",
    es="vigencia",
    usage=gettext_lazy("#12 from … until …"),
    help=gettext_lazy("say since when or until when a fact holds, also a day to come"),
)
def set_times(call: CommandCall) -> Answer:
    named, words = numbered(call)
    usage = _("Send /true, the number of the fact and the days: /true #12 until 31 December 2026")
    if named is None or not words:
        return Answer(usage)
    if not named:
        return Answer(not_found())
    said_at = call.now.astimezone(call.space.zone)
    language = call.message.language or call.chat.language or call.space.language
    told = timing.when_of(words, said_at=said_at, language=language, kind="")
    days = {"valid_from": told.valid_from, "valid_to": told.valid_to}
    given: dict[str, Any] = {name: value for name, value in days.items() if value}
    if not given:
        return Answer(usage)
    try:
        done = facts.revise(named[0], by=call.by, now=call.now, **given)
    except facts.Invalid as error:
        return Answer(str(error))
    return sentence_for(done, _("Noted — %(text)s: %(when)s") % _span(named[0], call))


def _span(fact: Fact, call: CommandCall) -> dict:
    days = [(_("from %(day)s"), fact.valid_from), (_("until %(day)s"), fact.valid_to)]
    zone = call.space.zone
    told = [words % {"day": at.astimezone(zone).date().isoformat()} for words, at in days if at]
    return {"text": fact.text, "when": " ".join(told)}


@command(
    "still-true",
    es="sigue-siendo",
    help=gettext_lazy("be asked about something that I have not heard of for long"),
)
def ask_now(call: CommandCall) -> Answer:
    fact = _due_here(call.message, now=call.now)
    if fact is None:
        return Answer(_("There is nothing of yours that I should check now."))
    return Answer(_question(fact, call.message), asks=fact.pk)


def question_below(chat: Chat, message: Message, *, now: datetime) -> Fact | None:
    """What to ask below this reply: once a day, where it is allowed and one person talks here.

    All chats of the space together are asked no more often than the page asks.
    """
    space = chat.space
    if not space.options.check_in_chat or chat.incognito_since or not _talks_alone(chat):
        return None
    today = {"sent_at__gte": lasting.midnight_of(space, now=now), "role": Message.Role.ASSISTANT}
    replies = Message.objects.filter(space=space, journal__contains=[{"outcome": ASKED}], **today)
    asked = list(replies.values_list("chat", flat=True))
    is_enough = chat.pk in asked or len(asked) >= space.options.checks_a_day
    return (
        None if is_enough or not lasting.left_today(space, now=now) else _due_here(message, now=now)
    )


def words_of(fact: Fact, message: Message) -> str:
    return _("By the way: %(question)s") % {"question": _question(fact, message)}


def forget_words(fact: Fact) -> str:
    """The question whether a memory that a model wants gone shall be forgotten."""
    return _("Shall I forget this: “%(text)s”? (yes or no)") % {"text": fact.text}


def note_question(reply: Message, fact: int, *, kind: str = "") -> None:
    """Write on the reply what it asks, so that a yes or no is understood."""
    line = {"outcome": ASKED, "fact": fact} | ({"kind": kind} if kind else {})
    reply.journal = [*reply.journal, line]
    reply.save(update_fields=["journal"])


@dataclass(frozen=True)
class Asked:
    """What the reply before a yes or no asked, and which of the two was said."""

    fact: Fact
    forget: bool
    yes: bool


def asked_before(message: Message, *, said: str = "", now: datetime) -> Asked | None:
    """What the reply right before asked, where the message, or `said`, is a yes or no to it."""
    said = " ".join(_WORD.sub(" ", fold(said or message.text)).split())
    still, no, do = (bool(one.fullmatch(said)) for one in (_YES, _NO, _DO))
    if message.role != Message.Role.USER or not (still or no or do):
        return None
    before = Message.objects.filter(chat=message.chat_id, pk__lt=message.pk).order_by("-pk").first()
    lines = before.journal if before and before.role == Message.Role.ASSISTANT else []
    asked: dict[str, Any] = next((one for one in lines if one.get("outcome") == ASKED), {})
    forget = asked.get("kind") == FORGET
    if not (no or (do if forget else still)):
        return None
    if forget:
        reach = facts_in_reach(CommandCall(message, "", now))
    else:
        own = said_by_same(message, prefix="message__")
        reach = Fact.objects.in_scope(message.chat).live().filter(own)
    fact = reach.filter(pk=asked.get("fact", 0)).first()
    return Asked(fact, forget, yes=not no) if fact else None


def take_answer(message: Message, asked: Asked, *, now: datetime) -> Answer:
    """Note the yes or no; `/undo` takes it back."""
    if asked.forget:
        return _forget(message, asked, now=now)
    done, text = _note(asked, now=now), asked.fact.text
    if not asked.yes:
        return ended(done, text)
    return sentence_for(done, _("Noted, it is still so: %(text)s") % {"text": text})


def take_more_than_yes(group: Sequence[Message], *, now: datetime) -> list[UUID | None]:
    """Note what a longer answer begins with: "No, now I work at Acme". Return the changes.

    Call it when the message was read: what it corrected by itself is no longer asked about.
    """
    first = _FIRST.match(group[0].text.strip())
    asked = asked_before(group[0], said=first[0], now=now) if first else None
    return [_note(asked, now=now).change_id] if asked and not asked.forget else []


def _note(asked: Asked, *, now: datetime) -> ChangeResult:
    done = (facts.confirm if asked.yes else facts.deprecate)(asked.fact, by="command", now=now)
    lasting.note_answer(done, answer="yes" if asked.yes else "no", by="command")
    return done


def _forget(message: Message, asked: Asked, *, now: datetime) -> Answer:
    if not asked.yes:
        return Answer(_("It stays: %(text)s") % {"text": asked.fact.text})
    by = CommandCall(message, "", now).by
    done = facts.forget(asked.fact, by=by, why="asked by a tool", now=now)
    return forgotten(done, asked.fact.text)


def _due_here(message: Message, *, now: datetime) -> Fact | None:
    """What this person said here themselves and what is due, the first of it."""
    due = lasting.due(message.chat.space, now=now)
    own = said_by_same(message, prefix="message__")
    return due.filter(own, chat=message.chat).select_related("space").first()


def _question(fact: Fact, message: Message) -> str:
    return lasting.question(fact, told_to(message.author, fact.text), language=message.language)


def _talks_alone(chat: Chat) -> bool:
    if chat.external_id.startswith("-") or (chat.channel == "discord" and "_" in chat.external_id):
        # So a group is numbered, also one where only one person has spoken yet.
        return False
    people = Message.objects.filter(chat=chat, role=Message.Role.USER)
    return people.order_by().values("author_id", "author").distinct()[:2].count() == 1
