"""Questions below a reply, answered by yes or no: is it still true, shall it be forgotten?"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from bot.commands.knowledge import facts_in_reach, not_found, split_number
from bot.commands.registry import (
    Answer,
    CommandCall,
    command,
    say_ended,
    say_forgotten,
    sentence_for,
)
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
    "vigencia",
    gettext_lazy("say since when or until when a fact holds, also a day to come"),
    usage=gettext_lazy("#12 from … until …"),
)
def set_times(call: CommandCall) -> Answer:
    named, words = split_number(call)
    usage = _("Send /true, the number of the fact and the days: /true #12 until 31 December 2026")
    if named is None or not words:
        return Answer(usage)
    if not named:
        return Answer(not_found())
    said_at = call.now.astimezone(call.space.zone)
    language = call.message.language or call.chat.language or call.space.language
    times = timing.when_of(words, said_at=said_at, language=language, kind="")
    days: dict[str, Any] = {"valid_from": times.valid_from, "valid_to": times.valid_to}
    days = {name: value for name, value in days.items() if value}
    if not days:
        return Answer(usage)
    fact, zone = named[0], call.space.zone
    try:
        done = facts.revise(fact, by=call.by, now=call.now, **days)
    except facts.Invalid as error:
        return Answer(str(error))
    ends = [(_("from %(day)s"), fact.valid_from), (_("until %(day)s"), fact.valid_to)]
    when = [text % {"day": at.astimezone(zone).date().isoformat()} for text, at in ends if at]
    values = {"text": fact.text, "when": " ".join(when)}
    return sentence_for(done, _("Noted — %(text)s: %(when)s") % values)


@command(
    "still-true",
    "sigue-siendo",
    gettext_lazy("be asked about something that I have not heard of for long"),
)
def ask_now(call: CommandCall) -> Answer:
    fact = _due_here(call.message, now=call.now)
    if fact is None:
        return Answer(_("There is nothing of yours that I should check now."))
    return Answer(_question(fact, call.message), asks=fact.pk)


def question_below(chat: Chat, message: Message, *, now: datetime) -> Fact | None:
    """Return what to ask below this reply: once a day, where that is allowed and one person talks.

    All chats of the space together are asked no more often than the page asks.
    """
    space = chat.space
    if not space.options.check_in_chat or chat.incognito_since or not _has_one_person(chat):
        return None
    today = {"sent_at__gte": lasting.midnight_of(space, now=now), "role": Message.Role.ASSISTANT}
    replies = Message.objects.filter(space=space, journal__contains=[{"outcome": ASKED}], **today)
    chats = list(replies.values_list("chat", flat=True))
    is_enough = chat.pk in chats or len(chats) >= space.options.checks_a_day
    if is_enough or not lasting.left_today(space, now=now):
        return None
    return _due_here(message, now=now)


def words_of(fact: Fact, message: Message) -> str:
    return _("By the way: %(question)s") % {"question": _question(fact, message)}


def forget_words(fact: Fact) -> str:
    return _("Shall I forget this: “%(text)s”? (yes or no)") % {"text": fact.text}


def note_question(reply: Message, fact: int, *, kind: str = "") -> None:
    """Write on the reply what it asks, so that a yes or no is understood."""
    line = {"outcome": ASKED, "fact": fact} | ({"kind": kind} if kind else {})
    reply.journal = [*reply.journal, line]
    reply.save(update_fields=["journal"])


class YesOrNo(NamedTuple):
    """What the reply before a yes or no asked, and which of the two was said."""

    fact: Fact
    forget: bool
    yes: bool


def question_before(message: Message, *, answer: str = "", now: datetime) -> YesOrNo | None:
    """Return what the reply right before asked, when the message, or `answer`, is a yes or no."""
    answer = " ".join(_WORD.sub(" ", fold(answer or message.text)).split())
    still, no, do = (bool(pattern.fullmatch(answer)) for pattern in (_YES, _NO, _DO))
    if message.role != Message.Role.USER or not (still or no or do):
        return None
    before = Message.objects.filter(chat=message.chat_id, pk__lt=message.pk).order_by("-pk").first()
    lines = before.journal if before and before.role == Message.Role.ASSISTANT else []
    asked: dict[str, Any] = next((line for line in lines if line.get("outcome") == ASKED), {})
    forget = asked.get("kind") == FORGET
    if not (no or (do if forget else still)):
        return None
    if forget:
        reach = facts_in_reach(CommandCall(message, "", now))
    else:
        own = said_by_same(message, prefix="message__")
        reach = Fact.objects.in_scope(message.chat).live().filter(own)
    fact = reach.filter(pk=asked.get("fact", 0)).first()
    return YesOrNo(fact, forget, yes=not no) if fact else None


def take_answer(message: Message, question: YesOrNo, *, now: datetime) -> Answer:
    """Note the yes or no; `/undo` takes it back."""
    fact, text = question.fact, {"text": question.fact.text}
    if not question.forget:
        done = _note(question, now=now)
        still_so = _("Noted, it is still so: %(text)s") % text
        return sentence_for(done, still_so) if question.yes else say_ended(done, fact.text)
    if not question.yes:
        return Answer(_("It stays: %(text)s") % text)
    by = CommandCall(message, "", now).by
    return say_forgotten(facts.forget(fact, by=by, why="asked by a tool", now=now), fact.text)


def take_more_than_yes(group: Sequence[Message], *, now: datetime) -> list[UUID | None]:
    """Note what a longer answer begins with: "No, now I work at Acme". Return the changes.

    Call it when the message was read: what it corrected by itself is no longer asked about.
    """
    first = _FIRST.match(group[0].text.strip())
    question = question_before(group[0], answer=first[0], now=now) if first else None
    return [_note(question, now=now).change_id] if question and not question.forget else []


def _note(question: YesOrNo, *, now: datetime) -> ChangeResult:
    act = facts.confirm if question.yes else facts.deprecate
    done = act(question.fact, by="command", now=now)
    lasting.note_answer(done, answer="yes" if question.yes else "no", by="command")
    return done


def _due_here(message: Message, *, now: datetime) -> Fact | None:
    due = lasting.due(message.chat.space, now=now)
    own = said_by_same(message, prefix="message__")
    return due.filter(own, chat=message.chat).select_related("space").first()


def _question(fact: Fact, message: Message) -> str:
    return lasting.question(fact, told_to(message.author, fact.text), language=message.language)


def _has_one_person(chat: Chat) -> bool:
    if chat.external_id.startswith("-") or (chat.channel == "discord" and "_" in chat.external_id):
        # The id of a group, even if only one person has spoken there yet.
        return False
    people = Message.objects.filter(chat=chat, role=Message.Role.USER)
    return people.order_by().values("author_id", "author").distinct()[:2].count() == 1
