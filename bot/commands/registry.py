"""What a command is: its names, its help, its call and its answer."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from memory.history import actors
from memory.history.changes import ChangeResult
from memory.models import Chat, Member, Message
from memory.spaces import chat_links
from memory.text import normalise as text

QUOTES = "\"'“”„«»‘’`´ \t\n"
# /why, /memory-status, /why@KenoBot; the rest may follow on the next line.
COMMAND_PATTERN = re.compile(r"/(?P<name>[^\s@/]+)(?:@\w+)?\s*(?P<rest>.*)", re.S)


@dataclass(frozen=True)
class Answer:
    """The text for the person, and the changes of memory that `/undo` takes back."""

    text: str
    changes: Sequence[UUID] = ()
    # The fact that the text asks about: the next yes or no is the answer.
    asks: int | None = None


@dataclass(frozen=True)
class CommandCall:
    """One command of one person."""

    message: Message
    rest: str
    now: datetime

    @property
    def chat(self) -> Chat:
        return self.message.chat

    @property
    def space(self):
        return self.message.chat.space

    @cached_property
    def member(self) -> Member | None:
        return chat_links.member_of(self.message)

    @property
    def may_decide(self) -> bool:
        return self.member is not None and self.member.may(Member.Role.CURATOR)

    @property
    def by(self) -> str:
        """Name the actor: a linked curator acts in person, anybody else as a command."""
        return actors.person(self.member.user) if self.may_decide else "command"

    @property
    def words(self) -> str:
        return self.rest.strip(QUOTES)


Act = Callable[[CommandCall], Answer | str]


@dataclass(frozen=True)
class Command:
    name: str
    act: Act
    spanish: tuple[str, ...]
    usage: str | Promise
    help: str | Promise


REGISTRY: list[Command] = []
BY_NAME: dict[str, Command] = {}


def command(
    name: str, spanish: str, help: str | Promise, *, usage: str | Promise = ""
) -> Callable[[Act], Act]:
    """Make the function a command. `spanish` are its Spanish names; the first one is shown."""

    def add(act: Act) -> Act:
        row = Command(name, act, tuple(spanish.split()), usage, help)
        REGISTRY.append(row)
        BY_NAME.update(dict.fromkeys(map(plain, (name, *row.spanish)), row))
        return act

    return add


def plain(name: str) -> str:
    """Return a name without accents, case and underscores: /qué, /memory_status."""
    return text.fold(name).replace("_", "-")


def sentence_for(done: ChangeResult, sentence: str) -> Answer:
    if done.changed:
        return Answer(sentence, [done.change_id])
    return Answer(done.reason or _("That is so already."))


def say_ended(done: ChangeResult, text: str) -> Answer:
    return sentence_for(done, _("No longer: %(text)s\n/undo takes it back.") % {"text": text})


def say_forgotten(done: ChangeResult, text: str) -> Answer:
    return sentence_for(done, _("Forgotten — %(text)s\n/undo brings it back.") % {"text": text})


def need_link() -> str:
    return _(
        "Only a curator or owner of this space may do that. If you are one, link this chat to"
        " your account first: the Account page shows a code for /link."
    )
