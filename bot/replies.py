"""From what was said to what is answered: context, language model, tags."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings
from django.utils.translation import gettext as _

from bot import batching, bootstrap, drafts, feedback, selfcheck
from memory import logs
from memory.extraction import ingest, intents, tags
from memory.extraction.apply import Applied, apply
from memory.identity import rules
from memory.identity.bootstrap import Step
from memory.llm.complete import available, complete, expander
from memory.llm.request import Briefing, Completion, Recalled
from memory.models import Chat, Fact, Message, SelfCheck
from memory.prompt import builder as context
from memory.spaces.chat_links import ids_of, said_by_same

ABOUT_SOMEBODY = 12
# How long a reply in a terminal may wait for what is learned from the message.
TERMINAL_SECONDS = 20


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
        briefing=bootstrap.add_to_briefing(_briefed(chat, group, built), step),
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
    tagged = thought.split.bootstrap_complete
    return learned + bootstrap.save_progress(
        chat, thought.step, message=group[-1], tagged=tagged, now=now
    )


def visible_text(thought: Thought, group: Sequence[Message], learned: Sequence[Applied]) -> str:
    """What the person reads. A reply of tags alone still gets a word."""
    said, script = thought.split.text, thought.step.script if thought.step else ""
    # The built-in provider says the script itself.
    said = said if script in said else f"{said}\n\n{script}".strip()
    corrected = feedback.corrected(group, learned, person=group[-1].author)
    return "\n\n".join(part for part in (said or _("Noted."), corrected) if part)


def keep_receipt(thought: Thought, reply: Message, *, now: datetime) -> SelfCheck:
    """Tie what was recalled, and a look back at the answer, to the reply."""
    context.keep(thought.context, reply=reply, now=now)
    asker = ids_of(reply.reply_to) if reply.reply_to else ()
    held = rules.violations(reply.text, rules.active(reply.space, pairs=asker))
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


def read_now(chat: Chat, group: Sequence[Message], *, now: datetime) -> None:
    """Learn from the messages before they are answered, if that is a matter of milliseconds.

    What takes longer, and whatever a model is asked about, is left to the ingest job: its chips
    appear when they are there.
    """
    if available("extract", space=chat.space):
        return
    # A terminal shows nothing later: there the reply waits until it is read.
    patience = TERMINAL_SECONDS if chat.channel == "console" else settings.READ_SECONDS
    given = {"until": group[-1].pk, "within": patience, "now": now}
    ingest.ingest_waiting(chat.space, chat=chat, **given)
    fresh = Message.objects.in_bulk([message.pk for message in group])
    for message in group:
        message.journal = fresh[message.pk].journal


def _briefed(chat: Chat, group: Sequence[Message], built: context.Context) -> Briefing:
    """What only the built-in provider needs besides."""
    briefing = built.briefing
    if available("chat", space=chat.space):
        return briefing
    wants, last = intents.read(briefing.text).name, group[-1]
    offers = [line for message in group for line in message.journal]
    return replace(
        briefing,
        learned=[fact.text for fact in feedback.facts_of(group)],
        wishes=any(line.get("kind") == ingest.WISH for line in offers),
        # Nothing instead when there is nothing: what others said here is not about them.
        recalled=_about(last) if wants == "about_me" else briefing.recalled,
        heard=[_heard(one, last) for one in _memory(built.history)],
    )


def _memory(history: Sequence[Message]) -> list[Message]:
    return [one for one in history if one.role == Message.Role.USER and not one.not_recalled]


def _heard(message: Message, asked_in: Message) -> Recalled:
    """What was said a moment ago in this chat."""
    who = (message.author_id, "" if message.author_id else message.author)
    asker = (asked_in.author_id, "" if asked_in.author_id else asked_in.author)
    given = {"said_by": message.author, "said_at": message.sent_at, "by_asker": who == asker}
    return Recalled(message.text, kind="message", **given)


def _about(message: Message) -> list[Recalled]:
    """Somebody who asks what is known about them wants all that they said, not what fits."""
    mine = said_by_same(message, prefix="message__")
    facts = Fact.objects.in_scope(message.chat).live().filter(mine)
    return [
        Recalled(
            fact.text, quote=fact.quote, said_by=fact.said_by, said_at=fact.last_seen_at,
            by_asker=True,
        )
        for fact in facts.order_by("-pinned", "-confidence", "-last_seen_at")[:ABOUT_SOMEBODY]
    ]  # fmt: skip
