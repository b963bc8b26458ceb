"""What a command is: its names, its help, and what it is given."""

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
    """What the person is told, and which changes of memory `/undo` takes back."""

    text: str
    changes: Sequence[UUID] = ()
    # The fact that it asks about: a yes or no that follows is the answer.
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
        """The dashboard account behind the person, when the two are linked."""
        return chat_links.member_of(self.message)

    @property
    def may_decide(self) -> bool:
        return self.member is not None and self.member.may(Member.Role.CURATOR)

    @property
    def by(self) -> str:
        """A linked curator acts as the person they are; anybody else as a command."""
        return actors.person(self.member.user) if self.may_decide else "command"

    @property
    def words(self) -> str:
        """What follows the name, without the quotes around it."""
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
    name: str, *, es: str, help: str | Promise, usage: str | Promise = ""
) -> Callable[[Act], Act]:
    """Make the function a command. `es` holds its Spanish names, the first one shown."""

    def add(act: Act) -> Act:
        made = Command(name, act, tuple(es.split()), usage, help)
        REGISTRY.append(made)
        BY_NAME.update({plain(one): made for one in (name, *made.spanish)})
        return act

    return add


def plain(name: str) -> str:
    """Names are found without accents, case or the kind of dash: /qué, /memory_status."""
    return text.fold(name).replace("_", "-")


def sentence_for(done: ChangeResult, said: str) -> Answer:
    """The sentence when it was done, else why not."""
    if done.changed:
        return Answer(said, [done.change_id])
    return Answer(done.reason or _("That is so already."))


def ended(done: ChangeResult, text: str) -> Answer:
    return sentence_for(done, _("No longer: %(text)s\n/undo takes it back.") % {"text": text})


def forgotten(done: ChangeResult, text: str) -> Answer:
    return sentence_for(done, _("Forgotten — %(text)s\n/undo brings it back.") % {"text": text})


def need_link() -> str:
    return _(
        "Only a curator or owner of this space may do that. If you are one, link this chat to"
        " your account first: the Account page shows a code for /link."
    )
