"""Commands in a chat. They answer at once and never reach a language model."""

from collections.abc import Callable
from datetime import datetime

from django.utils.translation import gettext as _

from memory.models import Message

Command = Callable[..., str]
COMMANDS: dict[str, Command] = {}


def run(message: Message, *, now: datetime) -> str:
    """Do what the message commands; the answer is what the person is told."""
    name, _sep, rest = message.text.removeprefix("/").partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        return _("I do not know the command /%(name)s. Try /help.") % {"name": name[:40]}
    return command(message, rest.strip(), now=now)
