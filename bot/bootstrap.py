"""The first conversation, where it goes on: between the turn and the identity."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memory.extraction.apply import Applied
from memory.history import actors
from memory.identity import bootstrap
from memory.identity.bootstrap import Step
from memory.llm.complete import asker
from memory.llm.request import Briefing
from memory.models import Chat, Member, Message
from memory.spaces import chat_links

NAME, CONSOLE = "bootstrap", "console"


def step(chat: Chat, group: Sequence[Message], *, now: datetime) -> Step | None:
    """What the messages lead to; None when there is no first conversation in this chat."""
    if chat.space.options.first_conversation and bootstrap.is_fresh(chat.space):
        bootstrap.start(chat.space, chat=chat.pk, now=now)
    if not bootstrap.is_active(chat.space, chat=chat.pk):
        return None
    said = "\n".join(message.text for message in group)
    ask = asker("summarise", space=chat.space, chat=chat)
    found = bootstrap.next_step(chat.space, message=said, complete=ask)
    if found is None or actors.is_person(_by(group[-1])):
        return found
    # What is found out about somebody who is not known here is for them alone.
    return replace(found, state=found.state | {"whom": chat_links.whom(group[-1])})


def add_to_briefing(briefing: Briefing, found: Step | None) -> Briefing:
    if found is None:
        return briefing
    return replace(briefing, script=found.script, completes=found.completes)


def save_progress(
    chat: Chat, found: Step | None, *, message: Message, tagged: bool, now: datetime
) -> list[Applied]:
    """Write where it stands now; a tag of the model ends it early."""
    if found is None:
        return []
    by = _by(message)
    if tagged and not found.completes:
        done = bootstrap.finish(chat.space, state=found.state, by=by, now=now)
    else:
        done = bootstrap.advance(chat.space, found, by=by, now=now)
    return [Applied(NAME, one.row.value, one) for one in done]


def _by(message: Message) -> str:
    """Only a curator's answers, or those at the machine's own terminal, are a person's wording."""
    if message.chat.channel == CONSOLE:
        return actors.person(message.author or CONSOLE)
    member = chat_links.member_of(message)
    may = member is not None and member.may(Member.Role.CURATOR)
    return actors.person(member.user) if may else bootstrap.BY
