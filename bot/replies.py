"""From what was said to what is answered: context, language model, tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from bot import batching, corrections, drafts, selfcheck
from memory import chats, logs, working
from memory.extraction import intents, tags
from memory.extraction.apply import Applied, apply
from memory.identity import prompt, rules
from memory.llm.briefing import Briefing, Recalled
from memory.llm.complete import complete
from memory.llm.request import Completion
from memory.models import Chat, Draft, Fact, Message, SelfCheck
from memory.retrieval import receipts
from memory.retrieval.ranking import Scored
from memory.retrieval.recall import Recalled as Found
from memory.retrieval.recall import recall

ABOUT_SOMEBODY = 12


@dataclass(frozen=True)
class Thought:
    """What the model answered to one group of messages, before anything follows from it."""

    question: str
    completion: Completion
    split: tags.Split
    found: Found


def think(chat: Chat, group: Sequence[Message], *, now: datetime) -> Thought:
    """Recall, and ask the model. Nothing is written here but the receipt and the call."""
    question = batching.join([(message.author, tags.disarm(message.text)) for message in group])
    before = chats.short_term(chat, now=now, before=group[0])
    found = recall(
        chat.space,
        question,
        chat=chat,
        person=group[-1].author,
        now=now,
        message=group[-1],
        seen=[message.pk for message in [*before, *group]],
    )
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
        briefing=_briefing(chat, group, question, found, now=now),
        chat=chat,
        message=group[-1],
        trace=logs.current_trace(),
        now=now,
    )
    return Thought(question, completion, tags.split(completion.text), found)


def _briefing(
    chat: Chat, group: Sequence[Message], question: str, found: Found, *, now: datetime
) -> Briefing:
    latest, note = corrections.latest(chat, now=now), working.current(chat, now=now)
    return Briefing(
        said=question,
        now=now,
        language=group[-1].language or chat.language or chat.space.language,
        person=group[-1].author,
        recalled=_about(group[-1], question) or [_recalled(one) for one in found.items],
        level=found.level,
        working=working.as_text(note) if note else "",
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


def _recalled(one: Scored) -> Recalled:
    unit = one.unit
    return Recalled(
        # An episode's title is often how its body begins.
        text="\n".join(dict.fromkeys(unit.text.splitlines())),
        kind=unit.kind,
        quote=unit.quote,
        said_by=unit.speaker,
        said_at=unit.at,
        score=one.score,
    )


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
        had_memory=bool(thought.found.items),
        forbidden=[phrase.phrase for phrase in held],
    )
    if {"mild_hedging", "excessive_hedging"} & set(found.signals):
        reply.flags = [*reply.flags, "hedging"]
        reply.save(update_fields=["flags"])
    if thought.found.receipt:
        receipts.attach(thought.found.receipt, reply=reply)
    Draft.objects.filter(chat=reply.chat_id).delete()
    return SelfCheck.objects.create(
        space=reply.space,
        reply=reply,
        quality=found.quality,
        score=found.score,
        signals=found.signals,
        forbidden=found.forbidden,
    )
