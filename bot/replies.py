"""From messages to the reply: context, language model, tags."""

import re
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from bot import channels, feedback, tools
from bot.outbox import page
from memory import logs, people
from memory.calendar.resolve import resolve
from memory.extraction import ingest, intents, tags
from memory.extraction.apply import Applied, apply
from memory.history import actors
from memory.identity import bootstrap as identity_bootstrap
from memory.identity import rules
from memory.identity.bootstrap import Step
from memory.llm.complete import asker, available, complete, expander
from memory.llm.request import Briefing, Completion, Recalled, Stream
from memory.models import Chat, Draft, Entity, Fact, Member, Mention, Message, SelfCheck
from memory.models.prepared import insert
from memory.prompt import builder as context
from memory.retrieval import receipts
from memory.retrieval.recall import recall
from memory.retrieval.understand import Cue, kinsfolk, says_when
from memory.spaces import chat_links
from memory.spaces.chat_links import hears_the_space, ids_of, said_by_same
from memory.text import normalise as text
from memory.text.summaries import last_question
from memory.trust import canaries

NAME, CONSOLE = "bootstrap", "console"
# Faster than people read, slow enough for the database and for Telegram's limits.
SECONDS_BETWEEN = 0.7
LISTS = {"about_me", "about", "told_on", "planned_on", "new"}
# How many facts a list has, how many come from other chats, how many messages are looked through.
MAX_LISTED = 40
MAX_ELSEWHERE = 8
MAX_RECENT = 200
# "Since yesterday" is about yesterday: the reply has its own words around it.
_LEAD = re.compile(r"^(?:on|for|since|desde|para)\s+", re.I)
PICTURE = re.compile(r"!\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
ADDRESS = re.compile(r"(?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\"'()\[\]]+", re.I)
_POSSESSIVE = re.compile(r"^(?:my|our|mis?|nuestr[oa]s?)\s+", re.I)
# How long a reply in a terminal may wait for what is learned from the message.
TERMINAL_SECONDS = 20


def step(chat: Chat, group: Sequence[Message], *, now: datetime) -> Step | None:
    """Return the next step of the first conversation; None when there is none in this chat."""
    if chat.space.options.first_conversation and identity_bootstrap.is_fresh(chat.space):
        identity_bootstrap.start(chat.space, chat=chat.pk, now=now)
    if not identity_bootstrap.is_active(chat.space, chat=chat.pk):
        return None
    text = "\n".join(message.text for message in group)
    ask = asker("summarise", space=chat.space, chat=chat)
    next_step = identity_bootstrap.next_step(chat.space, message=text, complete=ask)
    if next_step is None or actors.is_person(_by(group[-1])):
        return next_step
    # What is learned about somebody who is not a curator holds for them alone.
    return replace(next_step, state=next_step.state | {"whom": chat_links.whom(group[-1])})


def save_progress(
    chat: Chat, progress: Step | None, *, message: Message, tagged: bool, now: datetime
) -> list[Applied]:
    """Save the state of the first conversation; a tag of the model ends it early."""
    if progress is None:
        return []
    by = _by(message)
    if tagged and not progress.completes:
        results = identity_bootstrap.finish(chat.space, state=progress.state, by=by, now=now)
    else:
        results = identity_bootstrap.advance(chat.space, progress, by=by, now=now)
    return [Applied(NAME, done.row.value, done) for done in results]


def _by(message: Message) -> str:
    """Name the actor: only a curator, or who sits at the terminal, acts as a person."""
    if message.chat.channel == CONSOLE:
        return actors.person(message.author or CONSOLE)
    member = chat_links.member_of(message)
    if member is not None and member.may(Member.Role.CURATOR):
        return actors.person(member.user)
    return identity_bootstrap.BY


def stream_to(chat: Chat, *, clock: Callable[[], float] = time.monotonic) -> Stream | None:
    """Return what shows the growing answer in the chat; None where that is not possible."""
    channel = channels.get(chat.channel)
    if channel is None or not channel.streams:
        return None
    last = [clock() - SECONDS_BETWEEN]

    def show(so_far: str) -> None:
        if clock() - last[0] >= SECONDS_BETWEEN:
            last[0] = clock()
            channel.draft(chat, visible(so_far))

    return show


def visible(so_far: str) -> str:
    """Return the text up to the first tag that is not closed yet, without the closed ones."""
    # Half a tag, perhaps: what follows decides.
    whole = re.sub(r"<[^<>]*\Z", "", so_far)
    lower, ends = whole.lower(), [len(whole)]
    for name in tags.NAMES:
        start = lower.rfind(f"<{name}")
        if name != tags.DONE and start >= 0 and f"</{name}>" not in lower[start:]:
            ends.append(start)
    return tags.split(whole[: min(ends)]).text


def join(texts: Sequence[tuple[str, str]]) -> str:
    """Join texts of (author, text); the authors are named when there are several."""
    several = len({author for author, _ in texts}) > 1
    return "\n".join(f"{author}: {text}" if several and author else text for author, text in texts)


@dataclass(frozen=True)
class Thought:
    """What the model answered to one group of messages, before it has any effect."""

    question: str
    context: context.Context
    completion: Completion
    split: tags.Split
    step: Step | None = None
    box: tools.Toolbox | None = None


def think(chat: Chat, group: Sequence[Message], *, now: datetime) -> Thought:
    """Recall, and ask the model. Only the receipt and the call are written here."""
    last, progress = group[-1], step(chat, group, now=now)
    question = join([(message.author, tags.disarm(message.text)) for message in group])
    built = context.build(
        chat,
        question,
        now=now,
        person=last.author,
        group=group,
        language=last.language or _recent_language(chat),
        expand=expander(chat),
        # Without a model only a question is answered from memory.
        asks=available("chat", space=chat.space) or _asks(group),
        first_talk=progress is not None,
    )
    # A first conversation reads no memory and has its own course.
    box = tools.Toolbox(chat, group, now) if progress is None else None
    briefing = _complete_briefing(chat, group, built)
    if progress:
        briefing = replace(briefing, script=progress.script, completes=progress.completes)
    completion = (partial(tools.answer, box) if box else partial(complete, "chat"))(
        space=chat.space,
        system=built.system,
        messages=built.messages,
        # Without a model the whole answer is there at once.
        stream=stream_to(chat) if available("chat", space=chat.space) else None,
        briefing=briefing,
        chat=chat,
        message=last,
        trace=logs.current_trace(),
        now=now,
    )
    built.looked_up = box.found if box else []
    built.listed = [
        memory.fact
        for memory in briefing.recalled
        if memory.fact and receipts.is_used(memory.text, reply=completion.text, question="")
    ]
    split = tools.with_tools(tags.split(completion.text), box)
    return Thought(question, built, completion, split, progress, box)


def _asks(group: Sequence[Message]) -> bool:
    """Whether memory may answer: a question, or bare words that state nothing."""
    if any(intents.read(message.text).questions for message in group):
        return True
    states_something = any(line.get("outcome") != "skipped" for line in group[-1].journal)
    return len(group) == 1 and not states_something and intents.is_bare(group[-1].text)


def _recent_language(chat: Chat) -> str:
    """Return the language of the last message here with one: "ok" has none."""
    messages = Message.objects.filter(chat=chat, role=Message.Role.USER).exclude(language="")
    return messages.order_by("-pk").values_list("language", flat=True).first() or ""


def learn(
    chat: Chat, group: Sequence[Message], thought: Thought, *, now: datetime
) -> list[Applied]:
    """Apply each tag on its own: one that fails does not keep the others."""
    mode = f"{thought.completion.provider}:{thought.completion.model}"
    planned = thought.box.plans if thought.box else ()
    learned = apply(thought.split, chat=chat, messages=group, mode=mode, plans=planned, now=now)
    tagged = thought.split.bootstrap_complete
    return learned + save_progress(chat, thought.step, message=group[-1], tagged=tagged, now=now)


def visible_text(thought: Thought, group: Sequence[Message], learned: Sequence[Applied]) -> str:
    """Return what the person reads. A reply of tags alone still gets a word."""
    text, script = thought.split.text, thought.step.script if thought.step else ""
    if thought.completion.provider != "offline":
        turns = [turn["content"] for turn in thought.context.messages]
        looked_up = thought.box.results if thought.box else ()
        source = "\n".join([*thought.context.system, *turns, *looked_up])
        text = without_strange_links(text, source=source)
    # The built-in provider says the script itself.
    text = text if script in text else f"{text}\n\n{script}".strip()
    corrected = feedback.correction_line(group, learned, person=group[-1].author)
    whole = "\n\n".join(part for part in (text or _("Noted."), corrected) if part)
    chat = group[-1].chat
    if canaries.watch(chat.space, whole, place="reply", chat=chat):
        return whole
    return _("This reply is held back: part of it belongs in another chat.")


def without_strange_links(text: str, *, source: str) -> str:
    """Take out pictures, and URLs that are not in `source`.

    A model that follows a planted order could leak memory in the characters of a URL.
    """

    def shown(url: re.Match) -> str:
        if url[0] in source:
            return url[0]
        host = urlsplit(url[0] if "//" in url[0] else f"//{url[0]}").hostname
        return _("(a link to %(host)s, left out)") % {"host": host or "?"}

    return ADDRESS.sub(shown, PICTURE.sub(r"\1", text))


def keep_receipt(thought: Thought, reply: Message, *, now: datetime) -> SelfCheck:
    marks = context.keep(thought.context, reply=reply, now=now)
    pairs = ids_of(reply.reply_to) if reply.reply_to else ()
    violations = rules.violations(reply.text, rules.active(reply.space, pairs=pairs))
    result = feedback.check(
        reply.text,
        question=thought.question,
        had_memory=thought.context.had_memory,
        forbidden=[phrase.phrase for phrase in violations],
    )
    if "contradicted" in marks.values():
        result.signals.append("contradicts_memory")
    if {"mild_hedging", "excessive_hedging"} & set(result.signals):
        reply.flags = [*reply.flags, "hedging"]
        reply.save(update_fields=["flags"])
    channel = channels.get(reply.chat.channel)
    if thought.completion.provider != "offline" and channel and channel.streams:
        Draft.objects.filter(chat=reply.chat).delete()
    row = SelfCheck(space=reply.space, reply=reply, **vars(result))
    insert(row)
    return row


def read_now(chat: Chat, group: Sequence[Message], *, has_unread: bool, now: datetime) -> None:
    """Learn from the messages before they are answered, if that takes milliseconds.

    What takes longer, and what a model is asked about, is left to the ingest job. Where the chat
    `has_unread` messages from before, they are read first.
    """
    if available("extract", space=chat.space):
        return
    # A terminal shows nothing later: there the reply waits until it is read.
    patience = TERMINAL_SECONDS if chat.channel == "console" else settings.READ_SECONDS
    known = {message.pk: message for message in group}
    # Copies: what is rolled back leaves no trace on the messages that are answered.
    copies = [copy(message) for message in group]
    waiting = ingest.waiting_in(chat, until=group[-1].pk) if has_unread else copies
    for message in ingest.read(waiting, within=patience, now=now):
        if row := known.get(message.pk):
            for name in ("journal", "episode_id", "ingested_at"):
                setattr(row, name, getattr(message, name))


def _complete_briefing(chat: Chat, group: Sequence[Message], built: context.Context) -> Briefing:
    """Add to the briefing what only the built-in provider needs."""
    assert built.briefing
    briefing = built.briefing
    if available("chat", space=chat.space):
        return briefing
    wants, last = intents.read(briefing.text), group[-1]
    offers = [line for message in group for line in message.journal]
    briefing = replace(
        briefing,
        learned=[fact.text for fact in feedback.facts_of(group)],
        wishes=any(line.get("kind") == ingest.WISH for line in offers),
        known=any(line.get("outcome") == "again" for line in offers),
        unread=not chat.incognito_since and any(row.ingested_at is None for row in group),
        heard=[*briefing.heard, *_from_window(built.history, wants, last)],
    )
    if wants.name in LISTS:
        # An empty list stays empty: what others said here is not about them.
        briefing = _with_list(briefing, wants, last)
        if wants.name != "about" or briefing.recalled:
            return briefing
        name = text.fold(_POSSESSIVE.sub("", wants.rest.strip()))
        away = _elsewhere(last, built)
        about = [fact for fact in away if name in text.fold(f"{fact.subject} {fact.text}")]
        return replace(briefing, elsewhere=about)
    asks = wants.questions and briefing.level in ("none", "low")
    return replace(briefing, elsewhere=_elsewhere(last, built)) if asks else briefing


def _from_window(
    history: Sequence[Message], wants: intents.Intent, question: Message
) -> list[Recalled]:
    """Return what may answer from the short-term window, each with what it replies to."""
    before = {message.pk: earlier for earlier, message in pairwise(history)}
    return [
        replace(_recalled(row, question), replies_to=_answered_question(row, before.get(row.pk)))
        for row in _current(history, wants)
    ]


def _answered_question(message: Message, before: Message | None) -> str:
    if before is None or before.not_recalled == Message.NotRecalled.INCOGNITO:
        return ""
    return last_question(before.text) if _author(before) != _author(message) else ""


def _current(history: Sequence[Message], wants: intents.Intent) -> list[Message]:
    """Return people's messages of the short-term window that were not taken back since."""
    messages = [row for row in history if row.role == Message.Role.USER and not row.not_recalled]
    if not messages or not wants.questions:
        return messages
    replaced = Fact.objects.filter(message__in=messages, superseded_by__isnull=False)
    outdated = set(replaced.values_list("message", flat=True))
    return [message for message in messages if message.pk not in outdated]


def _recalled(message: Message, question: Message) -> Recalled:
    return Recalled(
        message.text,
        kind="message",
        said_by=message.author,
        said_at=message.sent_at,
        by_asker=_author(message) == _author(question),
    )


def _author(message: Message) -> tuple[str, str]:
    return message.author_id, "" if message.author_id else message.author


def _with_list(briefing: Briefing, wants: intents.Intent, message: Message) -> Briefing:
    """Add everything about somebody, or from the days that are asked for, to the briefing."""
    facts = Fact.objects.in_scope(message.chat).live()
    facts = facts if hears_the_space(message.chat) else facts.filter(chat=message.chat)
    mine = said_by_same(message, prefix="message__")
    if wants.name == "about_me":
        rows = _listed(facts.filter(mine), message)
        # First what is about themselves, then what they said about others.
        return replace(briefing, recalled=sorted(rows, key=lambda row: row.subject != row.said_by))
    if wants.name == "about":
        rows = _listed(_about_whom(wants.rest.strip(), facts, message), message)
        # What is not known as a fact may still have been said.
        name = text.fold(_POSSESSIVE.sub("", wants.rest.strip()))
        said = [row for row in briefing.recalled if name in text.fold(row.text)]
        return replace(briefing, recalled=rows or said)
    lean = "future" if wants.name == "planned_on" else "past"
    when = _days(briefing.text, now=briefing.now, lean=lean)
    if when is None:
        return replace(briefing, days="")
    if wants.name == "planned_on":
        plans = facts.filter(occurs_at__gte=when.start, occurs_at__lt=when.end)
        rows = _listed(plans.order_by("occurs_at"), message)
        rows += _messages_about(message, when, quotes=[row.quote for row in rows])
    elif wants.name == "new":
        rows = _listed(facts.filter(created_at__gte=when.start).order_by("created_at"), message)
    else:
        own = _own_messages(message).filter(sent_at__gte=when.start, sent_at__lt=when.end)
        rows = [_recalled(row, message) for row in own.order_by("sent_at", "pk")[:MAX_LISTED]]
    return replace(briefing, recalled=rows, days=when.phrase)


def _own_messages(message: Message) -> QuerySet[Message]:
    own = Message.objects.filter(said_by_same(message), not_recalled="", silenced_by=None)
    return own.filter(chat=message.chat)


def _about_whom(whom: str, facts: QuerySet, message: Message) -> QuerySet:
    """Return the facts about a name: "Lucía", "my sister", "my sister Nell", "the boat"."""
    name = _POSSESSIVE.sub("", whom)
    # The whole word, with its accents or without: "mañana" does not speak of Ana.
    word = rf"\m{text.loose_pattern(name)}(?:'?s)?\M"
    named = Q(text__iregex=word) | Q(subject__iregex=word) | Q(said_by__iexact=name, subject="")
    if name != whom:
        named &= said_by_same(message, prefix="message__")
    entities = {pk for row in _entities(whom, name, message) for pk in people.group(row)}
    about = people.facts_of(entities, Mention.Role.ABOUT, Mention.Role.NAMED)
    return facts.filter(named | Q(pk__in=about.values("pk")))


def _entities(whom: str, name: str, message: Message) -> list[Entity]:
    """Find people by name, or by whose kin they are; of several sisters the one that is named."""
    space, chat = message.space, message.chat
    kin = kinsfolk(whom)
    if kin is None:
        return people.known_as(space, chat, name)
    start = people.known_as(space, chat, kin.owner or message.author)
    relatives = people.relatives(start, kin.path, chat=chat)
    words = set(text.words(text.fold(whom)))
    return [row for row in relatives if words.intersection(row.keys)] or relatives


def _messages_about(message: Message, days: Cue, *, quotes: Sequence[str]) -> list[Recalled]:
    """Return what the asker said recently about these days and did not become a fact."""
    recent = _own_messages(message).filter(pk__lt=message.pk).order_by("-pk")[:MAX_RECENT]
    rows = []
    for row in recent:
        if says_when(row.text) and not any(quote in row.text for quote in quotes if quote):
            when = _days(row.text, now=row.sent_at.astimezone(days.start.tzinfo), lean="future")
            if when and when.start < days.end and days.start < when.end:
                rows.append(_recalled(row, message))
    return rows[::-1]


def _days(sentence: str, *, now: datetime, lean: str) -> Cue | None:
    """Return the first days it names, by the clock of the space; "Thursday" as `lean` says."""
    language = text.detect_language(sentence) or "en"
    for when in resolve(sentence, said_at=now, language=language, lean=lean):
        if when.first and when.last and when.dated:
            ends = (when.first, when.last + timedelta(days=1))
            start, end = (datetime.combine(day, datetime.min.time(), now.tzinfo) for day in ends)
            return Cue(_LEAD.sub("", sentence[when.start : when.end].strip(" ?¿")), start, end)
    return None


def _listed(facts: QuerySet, message: Message) -> list[Recalled]:
    own = set(facts.filter(said_by_same(message, prefix="message__")).values_list("pk", flat=True))
    ordered = facts if facts.ordered else facts.order_by("subject", "category", "-pinned", "pk")
    return [
        Recalled(
            fact.text, quote=fact.quote, said_by=fact.said_by, said_at=fact.last_seen_at,
            subject=fact.subject, by_asker=fact.pk in own, fact=fact.pk,
        )
        for fact in ordered[:MAX_LISTED]
    ]  # fmt: skip


def _elsewhere(message: Message, built: context.Context) -> list[Recalled]:
    """Return what other chats know of it, for a member, who may look there, and nobody else."""
    member = chat_links.member_of(message)
    if not member or not hears_the_space(message.chat):
        return []
    result = recall(
        message.space, built.briefing.text, person=message.author, now=built.briefing.now,
        everywhere=True, save=False, kinds=("fact",), limit=MAX_ELSEWHERE,
    )  # fmt: skip
    away = {item.unit.owner_id for item in result.items if item.unit.chat_id != message.chat_id}
    # A private chat is named only to its owner, and only where nobody else reads.
    visible = Q(chat__is_private=False)
    if message.chat.is_private:
        visible |= Q(chat__owner=member)
    facts = Fact.objects.live().filter(visible, pk__in=away).select_related("chat")
    rows = {fact.pk: fact for fact in facts}
    own = set(facts.filter(said_by_same(message, prefix="message__")).values_list("pk", flat=True))
    return [
        Recalled(fact.text, subject=fact.subject, said_by=fact.said_by, place=str(fact.chat),
                 quote=fact.quote, by_asker=fact.pk in own,
                 link=page("facts:detail", message.space.slug, fact.pk))
        for item in result.items
        if (fact := rows.get(item.unit.owner_id))
    ]  # fmt: skip
