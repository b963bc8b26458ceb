"""From what was said to what is answered: context, language model, tags."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext as _

from bot import batching, bootstrap, corrections, drafts, selfcheck
from memory import logs
from memory.extraction import tags
from memory.extraction.apply import Applied, apply
from memory.identity import rules
from memory.identity.bootstrap import Step
from memory.llm.complete import available, complete, expander
from memory.llm.providers import offline_intents as intents
from memory.llm.request import Briefing, Completion, Recalled
from memory.models import Chat, Fact, Message, SelfCheck
from memory.prompt import builder as context

ABOUT_SOMEBODY = 12


@dataclass(frozen=True)
class Thought:
    """What the model answered to one group of messages, before anything follows from it."""

    question: str
    context: context.Context
    completion: Completion
    split: tags.Split
    step: Step | None = None


def think(chat: Chat, group: Sequence[Message], *, now: datetime) -> Thought:
    """Recall, and ask the model. Nothing is written here but the receipt and the call."""
    last, step = group[-1], bootstrap.step(chat, group, now=now)
    question = batching.join([(message.author, tags.disarm(message.text)) for message in group])
    built = context.build(
        chat,
        question,
        now=now,
        person=last.author,
        group=group,
        language=last.language,
        expand=expander(chat),
        first_talk=step is not None,
    )
    completion = complete(
        "chat",
        space=chat.space,
        system=built.system,
        messages=built.messages,
        # Without a model the whole answer is there at once: nothing to watch growing.
        stream=drafts.stream_to(chat) if available("chat", space=chat.space) else None,
        briefing=bootstrap.add_to_briefing(_briefed(chat, last, built, now=now), step),
        chat=chat,
        message=last,
        trace=logs.current_trace(),
        now=now,
    )
    return Thought(question, built, completion, tags.split(completion.text), step)


def learn(
    chat: Chat, group: Sequence[Message], thought: Thought, *, now: datetime
) -> list[Applied]:
    """Each tag to its memory, each on its own: one that fails takes nothing else with it."""
    mode = f"{thought.completion.provider}:{thought.completion.model}"
    learned = apply(thought.split, chat=chat, messages=group, mode=mode, now=now)
    settled = corrections.settle(chat, said=group[-1].text, learned=learned, now=now)
    tagged = thought.split.bootstrap_complete
    learned += bootstrap.save_progress(chat, thought.step, tagged=tagged, now=now)
    return [*learned, *settled]


def visible_text(thought: Thought, learned: Sequence[Applied], *, person: str) -> str:
    """What the person reads. A reply of tags alone still gets a word."""
    said, script = thought.split.text, thought.step.script if thought.step else ""
    # The built-in provider says the script itself.
    said = said if script in said else f"{said}\n\n{script}".strip()
    corrected = corrections.told(learned, person=person)
    return "\n\n".join(part for part in (said or _("Noted."), corrected) if part)


def keep_receipt(thought: Thought, reply: Message, *, now: datetime) -> SelfCheck:
    """Tie what was recalled, and a look back at the answer, to the reply."""
    context.keep(thought.context, reply=reply, now=now)
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
    if thought.completion.provider != "offline":
        drafts.drop(reply.chat)
    return SelfCheck.objects.create(
        space=reply.space,
        reply=reply,
        quality=found.quality,
        score=found.score,
        signals=found.signals,
        forbidden=found.forbidden,
    )


def _briefed(chat: Chat, message: Message, built: context.Context, *, now: datetime) -> Briefing:
    """What only the built-in provider needs besides."""
    briefing = built.briefing
    if available("chat", space=chat.space):
        return briefing
    wants = intents.read(briefing.text).name
    latest = corrections.latest(chat, now=now) if wants == "correct" else None
    return replace(
        briefing,
        latest=latest.text if latest else "",
        recalled=(wants == "about_me" and _about(message)) or briefing.recalled,
        heard=[_heard(one) for one in built.history if one.role == Message.Role.USER],
    )


def _heard(message: Message) -> Recalled:
    return Recalled(message.text, kind="message", said_by=message.author, said_at=message.sent_at)


def _about(message: Message) -> list[Recalled]:
    """Somebody who asks what is known about them wants all of it, not what fits the words."""
    mine = Q(subject__iexact=message.author) | Q(said_by__iexact=message.author)
    facts = Fact.objects.in_scope(message.chat).live().filter(mine)
    return [
        Recalled(fact.text, quote=fact.quote, said_by=fact.said_by, said_at=fact.last_seen_at)
        for fact in facts.order_by("-pinned", "-confidence", "-last_seen_at")[:ABOUT_SOMEBODY]
    ]
