"""From what was said to what is answered: context, language model, tags."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from bot import batching, corrections, drafts, selfcheck
from memory import context, logs
from memory.context import Context
from memory.extraction import intents, tags
from memory.extraction.apply import Applied, apply
from memory.identity import rules
from memory.llm.briefing import Briefing, Recalled
from memory.llm.complete import complete
from memory.llm.request import Completion
from memory.models import Chat, Draft, Fact, Message, SelfCheck

ABOUT_SOMEBODY = 12


@dataclass(frozen=True)
class Thought:
    """What the model answered to one group of messages, before anything follows from it."""

    question: str
    completion: Completion
    split: tags.Split
    context: Context


def think(chat: Chat, group: Sequence[Message], *, now: datetime) -> Thought:
    """Recall, and ask the model. Nothing is written here but the receipt and the call."""
    question = batching.join([(message.author, tags.disarm(message.text)) for message in group])
    last = group[-1]
    built = context.build(
        chat, question, now=now, person=last.author, group=group, language=last.language
    )
    completion = complete(
        "chat",
        space=chat.space,
        system=built.system,
        messages=built.messages,
        stream=drafts.stream_to(chat),
        briefing=_briefing(chat, last, question, built, now=now),
        chat=chat,
        message=last,
        trace=logs.current_trace(),
        now=now,
    )
    return Thought(question, completion, tags.split(completion.text), built)


def _briefing(
    chat: Chat, message: Message, question: str, built: Context, *, now: datetime
) -> Briefing:
    latest = corrections.latest(chat, now=now)
    return replace(
        built.briefing,
        recalled=_about(message, question) or built.briefing.recalled,
        latest=latest.text if latest else "",
    )


def _about(message: Message, question: str) -> list[Recalled]:
    """Somebody who asks what is known about them wants all of it, not what fits the words."""
    if intents.read(question).name != "about_me" or not message.author:
        return []
    mine = Fact.objects.in_scope(message.chat).live().about(message.author)
    return [
        Recalled(fact.text, quote=fact.quote, said_by=fact.said_by, said_at=fact.last_seen_at)
        for fact in mine.order_by("-pinned", "-confidence", "-last_seen_at")[:ABOUT_SOMEBODY]
    ]


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
        had_memory=thought.context.had_memory,
        forbidden=[phrase.phrase for phrase in held],
    )
    if {"mild_hedging", "excessive_hedging"} & set(found.signals):
        reply.flags = [*reply.flags, "hedging"]
        reply.save(update_fields=["flags"])
    context.keep(thought.context, reply=reply, now=reply.sent_at)
    Draft.objects.filter(chat=reply.chat_id).delete()
    return SelfCheck.objects.create(
        space=reply.space,
        reply=reply,
        quality=found.quality,
        score=found.score,
        signals=found.signals,
        forbidden=found.forbidden,
    )
