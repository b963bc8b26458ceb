"""Commands in a chat. They answer at once and never reach a language model.

Only a person's message that begins with / is ever read here: what a model writes is a reply, and
replies are not messages of people.
"""

from datetime import datetime

from django.utils.translation import gettext as _

from bot.commands import explain, knowledge, night, still_true, talk
from bot.commands.asked import (
    BY_NAME,
    COMMAND_PATTERN,
    REGISTRY,
    Answer,
    CommandCall,
    need_link,
    plain,
)
from memory.chats import inbox
from memory.extraction import ingest, intents, offers
from memory.extraction.propose import Candidate
from memory.models import Message
from memory.options import BELIEVE, HOLD, READ_ONLY
from sleep import offer_proposals

# What these write would outlast an incognito chat.
KEEPING = {"remember", "learn", "update-fact"}


def run(message: Message, *, now: datetime) -> Answer:
    """Do what the message commands; the answer is what the person is told."""
    if asked := still_true.asked_before(message, now=now):
        return still_true.take_answer(message, asked, now=now)
    name, rest = _read(message.text)
    command = BY_NAME.get(plain(name))
    if message.role != Message.Role.USER or command is None:
        unknown = _("I do not know the command /%(name)s. Try /help.")
        return Answer(unknown % {"name": name[:40]})
    if message.chat.incognito_since and command.name in KEEPING:
        return Answer(_("Incognito: nothing is kept, so I do not note that down."))
    call = CommandCall(message, rest, now)
    found = BELIEVE if call.may_decide else ingest.gate(message)
    if (found != BELIEVE and command.name in KEEPING) or (
        found == READ_ONLY and command.name == "forget"
    ):
        return _held(call) if (found, command.name) == (HOLD, "remember") else Answer(need_link())
    answer = command.act(call)
    return answer if isinstance(answer, Answer) else Answer(answer)


def _held(call: CommandCall) -> Answer:
    """Put what somebody wants remembered before a person: what comes by this channel is held."""
    message, said = call.message, call.words
    one = Candidate(
        said, said, subject=message.author, kind="fact", category="other", confidence=0.9,
        language=message.language, mode="command", believed=False, held=message.chat.channel,
    )  # fmt: skip
    offers.offer(message, one)
    if not offer_proposals.propose_held([message], now=call.now):
        return Answer(_("This was proposed before, or is ruled out."))
    return Answer(_("It waits for a person, who decides in the dashboard."))


def language(message: Message) -> str:
    """A Spanish name is answered in Spanish; an English one in the language of the talk."""
    name = plain(_read(message.text)[0])
    command = BY_NAME.get(name)
    if command and name in map(plain, command.spanish) and name != command.name:
        return "es"
    said = Message.objects.filter(chat=message.chat_id, role=Message.Role.USER, pk__lt=message.pk)
    for spoken, text in said.order_by("-pk").values_list("language", "text")[:20]:
        if spoken and not inbox.is_command(text):
            return spoken
    return message.language or message.chat.language or message.chat.space.language


def is_command(text: str) -> bool:
    """Tell whether it is obeyed at once: "/why", and also "forget that I hate coriander"."""
    return inbox.is_command(text) or bool(intents.to_forget(text))


def _read(text: str) -> tuple[str, str]:
    found = COMMAND_PATTERN.match(text.strip())
    if found:
        return found["name"], found["rest"]
    spanish = intents.language(text) == "es"
    return "olvida" if spanish else "forget", intents.to_forget(text)
