"""From what was said to what is answered: context, language model, tags."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.utils.translation import gettext as _

from bot import batching, drafts
from memory import chats, logs
from memory.llm.briefing import Briefing
from memory.llm.complete import complete
from memory.llm.request import Completion
from memory.models import Chat, Message


@dataclass(frozen=True)
class Thought:
    """What the model answered to one group of messages, before anything follows from it."""

    question: str
    text: str
    completion: Completion
    tags: Sequence[object] = field(default_factory=list)


def think(chat: Chat, group: Sequence[Message], *, now: datetime) -> Thought:
    question = batching.join([(message.author, message.text) for message in group])
    before = chats.short_term(chat, now=now, before=group[0])
    said = [
        {"role": "user" if m.role == Message.Role.USER else "assistant", "content": m.text}
        for m in before
    ]
    completion = complete(
        "chat",
        space=chat.space,
        system="You are Keno.",
        messages=[*said, {"role": "user", "content": question}],
        stream=drafts.stream_to(chat),
        briefing=Briefing(
            said=question,
            now=now,
            language=group[-1].language or chat.space.language,
            person=group[-1].author,
        ),
        chat=chat,
        message=group[-1],
        trace=logs.current_trace(),
        now=now,
    )
    return Thought(question=question, text=completion.text, completion=completion)


def apply_tags(
    chat: Chat, group: Sequence[Message], thought: Thought, *, now: datetime
) -> list[object]:
    """Each tag on its own: one that fails takes nothing else with it."""
    return []


def spoken(thought: Thought, learned: Sequence[object]) -> str:
    """What the person reads. A reply of tags alone still gets a word."""
    return thought.text or _("Noted.")


def keep_receipt(thought: Thought, reply: Message) -> None:
    """Tie the recall to the reply it served."""
