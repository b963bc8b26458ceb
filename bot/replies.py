"""From what was said to what is answered: context, language model, tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from bot import batching, corrections, drafts, selfcheck
from memory import chats, logs
from memory.extraction import tags
from memory.extraction.apply import Applied, apply
from memory.identity import prompt, rules
from memory.llm.briefing import Briefing
from memory.llm.complete import complete
from memory.llm.request import Completion
from memory.models import Chat, Draft, Message, SelfCheck


@dataclass(frozen=True)
class Thought:
    """What the model answered to one group of messages, before anything follows from it."""

    question: str
    completion: Completion
    split: tags.Split
    had_memory: bool = False


def think(chat: Chat, group: Sequence[Message], *, now: datetime) -> Thought:
    """Ask the model. Nothing is written here but the record of the call."""
    question = batching.join([(message.author, tags.disarm(message.text)) for message in group])
    latest = corrections.latest(chat, now=now)
    before = chats.short_term(chat, now=now, before=group[0])
    said = [
        {"role": "user" if m.role == Message.Role.USER else "assistant", "content": m.text}
        for m in before
    ]
    completion = complete(
        "chat",
        space=chat.space,
        system=prompt(chat.space),
        messages=[*said, {"role": "user", "content": question}],
        stream=drafts.stream_to(chat),
        briefing=Briefing(
            said=question,
            now=now,
            language=group[-1].language or chat.space.language,
            person=group[-1].author,
            latest=latest.text if latest else "",
        ),
        chat=chat,
        message=group[-1],
        trace=logs.current_trace(),
        now=now,
    )
    return Thought(question, completion, tags.split(completion.text))


def learn(
    chat: Chat, group: Sequence[Message], thought: Thought, *, now: datetime
) -> list[Applied]:
    """Each tag to its memory, each on its own: one that fails takes nothing else with it."""
    mode = f"{thought.completion.provider}:{thought.completion.model}"
    learned = apply(thought.split, chat=chat, messages=group, mode=mode, now=now)
    corrections.settle(chat, said=group[-1].text, learned=learned, now=now)
    return learned


def spoken(thought: Thought) -> str:
    """What the person reads. A reply of tags alone still gets a word."""
    return thought.split.text or _("Noted.")


def keep_receipt(thought: Thought, reply: Message) -> SelfCheck:
    """Tie what was recalled, and a look back at the answer, to the reply."""
    held = rules.violations(reply.text, rules.active(reply.space))
    found = selfcheck.check(
        reply.text,
        question=thought.question,
        had_memory=thought.had_memory,
        forbidden=[phrase.phrase for phrase in held],
    )
    if {"mild_hedging", "excessive_hedging"} & set(found.signals):
        reply.flags = [*reply.flags, "hedging"]
        reply.save(update_fields=["flags"])
    Draft.objects.filter(chat=reply.chat_id).delete()
    return SelfCheck.objects.create(
        space=reply.space,
        reply=reply,
        quality=found.quality,
        score=found.score,
        signals=found.signals,
        forbidden=found.forbidden,
    )
