"""Commands in a chat. They answer at once and never reach a language model.

Only people's messages are read here, never the reply of a model.
"""

from datetime import datetime

from django.utils.translation import gettext as _

from bot.commands import explain, knowledge, night, registry, still_true, talk
from bot.commands.registry import BY_NAME, REGISTRY, Answer, CommandCall, plain
from memory.chats import inbox
from memory.extraction import ingest, intents, offers
from memory.extraction.propose import Candidate
from memory.models import Message
from memory.options import BELIEVE, HOLD, READ_ONLY
from sleep import offer_proposals

# What these write would outlast an incognito chat.
KEEPING = {"remember", "learn", "update-fact"}


def run(message: Message, *, now: datetime) -> Answer:
    if question := still_true.question_before(message, now=now):
        return still_true.take_answer(message, question, now=now)
    name, rest = _parse(message.text)
    command = BY_NAME.get(plain(name))
    if message.role != Message.Role.USER or command is None:
        unknown = _("I do not know the command /%(name)s. Try /help.")
        return Answer(unknown % {"name": name[:40]})
    if message.chat.incognito_since and command.name in KEEPING:
        return Answer(_("Incognito: nothing is kept, so I do not note that down."))
    call = CommandCall(message, rest, now)
    gate = BELIEVE if call.may_decide else ingest.gate(message)
    if (gate, command.name) == (HOLD, "remember"):
        return _hold(call)
    refused = {READ_ONLY: KEEPING | {"forget"}, HOLD: KEEPING}.get(gate, ())
    if command.name in refused:
        return Answer(registry.need_link())
    answer = command.act(call)
    return answer if isinstance(answer, Answer) else Answer(answer)


def _hold(call: CommandCall) -> Answer:
    """Propose what should be remembered: what comes by this channel is held for a person."""
    message, text = call.message, call.words
    candidate = Candidate(
        text, text, subject=message.author, kind="fact", category="other", confidence=0.9,
        language=message.language, mode="command", believed=False, held=message.chat.channel,
    )  # fmt: skip
    offers.offer(message, candidate)
    if not offer_proposals.propose_held([message], now=call.now):
        return Answer(_("This was proposed before, or is ruled out."))
    return Answer(_("It waits for a person, who decides in the dashboard."))


def language(message: Message) -> str:
    """Answer a Spanish command in Spanish, an English one in the language of the chat."""
    name = plain(_parse(message.text)[0])
    command = BY_NAME.get(name)
    if command and name in map(plain, command.spanish) and name != command.name:
        return "es"
    before = Message.objects.filter(chat=message.chat_id, role=Message.Role.USER, pk__lt=message.pk)
    for code, text in before.order_by("-pk").values_list("language", "text")[:20]:
        if code and not inbox.is_command(text):
            return code
    return message.language or message.chat.language or message.chat.space.language


def is_command(text: str) -> bool:
    """Tell whether it is obeyed at once: "/why", and also "forget that I hate coriander"."""
    return inbox.is_command(text) or bool(intents.to_forget(text))


def _parse(text: str) -> tuple[str, str]:
    if match := registry.COMMAND_PATTERN.match(text.strip()):
        return match["name"], match["rest"]
    spanish = intents.language(text) == "es"
    return "olvida" if spanish else "forget", intents.to_forget(text)
