"""From what was said to what is answered: context, language model, tags."""

import re
import time
from collections.abc import Callable, Sequence
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
LISTED, ELSEWHERE, LATELY = 40, 8, 200
# "Since yesterday" is about yesterday: what is said of it has its own words around it.
_LEAD = re.compile(r"^(?:on|for|since|desde|para)\s+", re.I)
PICTURE = re.compile(r"!\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
ADDRESS = re.compile(r"(?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\"'()\[\]]+", re.I)
_POSSESSIVE = re.compile(r"^(?:my|our|mis?|nuestr[oa]s?)\s+", re.I)
# How long a reply in a terminal may wait for what is learned from the message.
TERMINAL_SECONDS = 20


def step(chat: Chat, group: Sequence[Message], *, now: datetime) -> Step | None:
    """What the messages lead to; None when there is no first conversation in this chat."""
    if chat.space.options.first_conversation and identity_bootstrap.is_fresh(chat.space):
        identity_bootstrap.start(chat.space, chat=chat.pk, now=now)
    if not identity_bootstrap.is_active(chat.space, chat=chat.pk):
        return None
    said = "\n".join(message.text for message in group)
    ask = asker("summarise", space=chat.space, chat=chat)
    found = identity_bootstrap.next_step(chat.space, message=said, complete=ask)
    if found is None or actors.is_person(_by(group[-1])):
        return found
    # What is found out about somebody who is not known here is for them alone.
    return replace(found, state=found.state | {"whom": chat_links.whom(group[-1])})


def save_progress(
    chat: Chat, found: Step | None, *, message: Message, tagged: bool, now: datetime
) -> list[Applied]:
    """Write where it stands now; a tag of the model ends it early."""
    if found is None:
        return []
    by = _by(message)
    if tagged and not found.completes:
        done = identity_bootstrap.finish(chat.space, state=found.state, by=by, now=now)
    else:
        done = identity_bootstrap.advance(chat.space, found, by=by, now=now)
    return [Applied(NAME, one.row.value, one) for one in done]


def _by(message: Message) -> str:
    """Only a curator's answers, or those at the machine's own terminal, are a person's wording."""
    if message.chat.channel == CONSOLE:
        return actors.person(message.author or CONSOLE)
    member = chat_links.member_of(message)
    if member is not None and member.may(Member.Role.CURATOR):
        return actors.person(member.user)
    return identity_bootstrap.BY


def stream_to(chat: Chat, *, clock: Callable[[], float] = time.monotonic) -> Stream | None:
    """What to pass to a provider so that the chat sees the answer grow; None where it cannot."""
    channel = channels.get(chat.channel)
    if channel is None or not channel.streams:
        return None
    last = [clock() - SECONDS_BETWEEN]

    def show(so_far: str) -> None:
        if clock() - last[0] >= SECONDS_BETWEEN:
            last[0] = clock()
            channel.draft(chat, visible(so_far))

    return show


def drop(chat: Chat) -> None:
    """The reply is there: nobody needs its draft any more."""
    channel = channels.get(chat.channel)
    if channel and channel.streams:
        Draft.objects.filter(chat=chat).delete()


def visible(so_far: str) -> str:
    """The text up to the first tag that is not closed yet; closed ones are taken out."""
    whole = so_far
    opened = whole.rfind("<")
    if opened >= 0 and ">" not in whole[opened:]:
        # Half a tag, perhaps: what follows decides.
        whole = whole[:opened]
    starts = [_unclosed(whole.lower(), name) for name in tags.NAMES if name != tags.DONE]
    return tags.split(whole[: min([len(whole), *starts])]).text


def _unclosed(text: str, name: str) -> int:
    """Where the tag of this name opens that nothing closes; the end of the text if none does."""
    start = text.rfind(f"<{name}")
    return start if start >= 0 and f"</{name}>" not in text[start:] else len(text)


def join(texts: Sequence[tuple[str, str]]) -> str:
    """The texts of (author, text) as one; the authors are named when there are several."""
    several = len({author for author, _ in texts}) > 1
    return "\n".join(f"{author}: {text}" if several and author else text for author, text in texts)


@dataclass(frozen=True)
class Thought:
    """What the model answered to one group of messages, before anything follows from it."""

    question: str
    context: context.Context
    completion: Completion
    split: tags.Split
    step: Step | None = None
    box: tools.Toolbox | None = None


def think(chat: Chat, group: Sequence[Message], *, now: datetime) -> Thought:
    """Recall, and ask the model. Nothing is written here but the receipt and the call."""
    last, found = group[-1], step(chat, group, now=now)
    question = join([(message.author, tags.disarm(message.text)) for message in group])
    built = context.build(
        chat,
        question,
        now=now,
        person=last.author,
        group=group,
        language=last.language or _spoken_lately(chat),
        expand=expander(chat),
        # Without a model only a question is answered from memory.
        asks=available("chat", space=chat.space) or _asks(group),
        first_talk=found is not None,
    )
    # A first conversation reads no memory and has its own course.
    box = tools.Toolbox(chat, group, now) if found is None else None
    briefing = _briefed(chat, group, built)
    if found:
        briefing = replace(briefing, script=found.script, completes=found.completes)
    completion = (partial(tools.answer, box) if box else partial(complete, "chat"))(
        space=chat.space,
        system=built.system,
        messages=built.messages,
        # Without a model the whole answer is there at once: nothing to watch growing.
        stream=stream_to(chat) if available("chat", space=chat.space) else None,
        briefing=briefing,
        chat=chat,
        message=last,
        trace=logs.current_trace(),
        now=now,
    )
    built.looked_up = box.found if box else []
    built.listed = [
        one.fact
        for one in briefing.recalled
        if one.fact and receipts.is_used(one.text, reply=completion.text, question="")
    ]
    split = tools.with_tools(tags.split(completion.text), box)
    return Thought(question, built, completion, split, found, box)


def _asks(group: Sequence[Message]) -> bool:
    """Whether an answer may be in memory: to a question, or to bare words that told nothing."""
    if any(intents.read(message.text).questions for message in group):
        return True
    is_told = any(line.get("outcome") != "skipped" for line in group[-1].journal)
    return len(group) == 1 and not is_told and intents.is_bare(group[-1].text)


def _spoken_lately(chat: Chat) -> str:
    """The language of the last message here that tells its own: "ok" has none."""
    said = Message.objects.filter(chat=chat, role=Message.Role.USER).exclude(language="")
    return said.order_by("-pk").values_list("language", flat=True).first() or ""


def learn(
    chat: Chat, group: Sequence[Message], thought: Thought, *, now: datetime
) -> list[Applied]:
    """Each tag to its memory, each on its own: one that fails takes nothing else with it."""
    mode = f"{thought.completion.provider}:{thought.completion.model}"
    planned = thought.box.plans if thought.box else ()
    learned = apply(thought.split, chat=chat, messages=group, mode=mode, plans=planned, now=now)
    tagged = thought.split.bootstrap_complete
    return learned + save_progress(chat, thought.step, message=group[-1], tagged=tagged, now=now)


def visible_text(thought: Thought, group: Sequence[Message], learned: Sequence[Applied]) -> str:
    """What the person reads. A reply of tags alone still gets a word."""
    said, script = thought.split.text, thought.step.script if thought.step else ""
    if thought.completion.provider != "offline":
        said = without_strange_links(said, given=_given(thought))
    # The built-in provider says the script itself.
    said = said if script in said else f"{said}\n\n{script}".strip()
    corrected = feedback.corrected(group, learned, person=group[-1].author)
    whole = "\n\n".join(part for part in (said or _("Noted."), corrected) if part)
    chat = group[-1].chat
    if canaries.watch(chat.space, whole, place="reply", chat=chat):
        return whole
    return _("This reply is held back: part of it belongs in another chat.")


def without_strange_links(text: str, *, given: str) -> str:
    """Take out pictures, and addresses that stand nowhere in `given`.

    A model that follows a planted order could carry memory away in the letters of an address.
    """

    def shown(address: re.Match) -> str:
        if address[0] in given:
            return address[0]
        host = urlsplit(address[0] if "//" in address[0] else f"//{address[0]}").hostname
        return _("(a link to %(host)s, left out)") % {"host": host or "?"}

    return ADDRESS.sub(shown, PICTURE.sub(r"\1", text))


def _given(thought: Thought) -> str:
    turns = [turn["content"] for turn in thought.context.messages]
    looked_up = thought.box.results if thought.box else ()
    return "\n".join([*thought.context.system, *turns, *looked_up])


def keep_receipt(thought: Thought, reply: Message, *, now: datetime) -> SelfCheck:
    """Tie what was recalled, and a look back at the answer, to the reply."""
    made = context.keep(thought.context, reply=reply, now=now)
    pairs = ids_of(reply.reply_to) if reply.reply_to else ()
    held = rules.violations(reply.text, rules.active(reply.space, pairs=pairs))
    found = feedback.check(
        reply.text,
        question=thought.question,
        had_memory=thought.context.had_memory,
        forbidden=[phrase.phrase for phrase in held],
    )
    if "contradicted" in made.values():
        found.signals.append("contradicts_memory")
    if {"mild_hedging", "excessive_hedging"} & set(found.signals):
        reply.flags = [*reply.flags, "hedging"]
        reply.save(update_fields=["flags"])
    if thought.completion.provider != "offline":
        drop(reply.chat)
    kept = SelfCheck(space=reply.space, reply=reply, **vars(found))
    insert(kept)
    return kept


def read_now(chat: Chat, group: Sequence[Message], *, now: datetime) -> None:
    """Learn from the messages before they are answered, if that is a matter of milliseconds.

    What takes longer, and whatever a model is asked about, is left to the ingest job: its chips
    appear when they are there.
    """
    if available("extract", space=chat.space):
        return
    # A terminal shows nothing later: there the reply waits until it is read.
    patience = TERMINAL_SECONDS if chat.channel == "console" else settings.READ_SECONDS
    known = {message.pk: message for message in group}
    waiting = ingest.waiting_in(chat, until=group[-1].pk)
    for message in ingest.read(waiting, within=patience, now=now):
        if asked := known.get(message.pk):
            asked.journal, asked.episode_id = message.journal, message.episode_id
            asked.ingested_at = message.ingested_at


def _briefed(chat: Chat, group: Sequence[Message], built: context.Context) -> Briefing:
    """What only the built-in provider needs besides."""
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
        unread=not chat.incognito_since and any(one.ingested_at is None for one in group),
        heard=[*briefing.heard, *_heard_of(built.history, wants, last)],
    )
    if wants.name in LISTS:
        # Nothing instead when there is nothing: what others said here is not about them.
        briefing = _with_list(briefing, wants, last)
        is_elsewhere = wants.name == "about" and not briefing.recalled
        away = _about(wants, last, built) if is_elsewhere else briefing.elsewhere
        return replace(briefing, elsewhere=away)
    asks = wants.questions and briefing.level in ("none", "low")
    return replace(briefing, elsewhere=_elsewhere(last, built)) if asks else briefing


def _heard_of(
    history: Sequence[Message], wants: intents.Intent, asked_in: Message
) -> list[Recalled]:
    """What may answer from the short-term window, each with what it replies to."""
    before = {one.pk: earlier for earlier, one in pairwise(history)}
    return [
        replace(_heard(one, asked_in), replies_to=_asked_before(one, before.get(one.pk)))
        for one in _memory(history, wants)
    ]


def _asked_before(message: Message, before: Message | None) -> str:
    if before is None or before.not_recalled == Message.NotRecalled.INCOGNITO:
        return ""
    return last_question(before.text) if _who(before) != _who(message) else ""


def _memory(history: Sequence[Message], wants: intents.Intent) -> list[Message]:
    """What may answer from the short-term window: nothing that was taken back since."""
    said = [one for one in history if one.role == Message.Role.USER and not one.not_recalled]
    if not said or not wants.questions:
        return said
    replaced = Fact.objects.filter(message__in=said, superseded_by__isnull=False)
    outdated = set(replaced.values_list("message", flat=True))
    return [one for one in said if one.pk not in outdated]


def _heard(message: Message, asked_in: Message) -> Recalled:
    """What was said a moment ago in this chat."""
    return Recalled(
        message.text,
        kind="message",
        said_by=message.author,
        said_at=message.sent_at,
        by_asker=_who(message) == _who(asked_in),
    )


def _who(message: Message) -> tuple[str, str]:
    return message.author_id, "" if message.author_id else message.author


def _with_list(briefing: Briefing, wants: intents.Intent, message: Message) -> Briefing:
    """The briefing with everything about somebody, or of the days that are asked for."""
    facts = Fact.objects.in_scope(message.chat).live()
    facts = facts if hears_the_space(message.chat) else facts.filter(chat=message.chat)
    mine = said_by_same(message, prefix="message__")
    if wants.name == "about_me":
        rows = _listed(facts.filter(mine), message)
        # First what is about themselves, then what they told of others.
        return replace(briefing, recalled=sorted(rows, key=lambda one: one.subject != one.said_by))
    if wants.name == "about":
        found = _about_whom(wants.rest.strip(), facts, message)
        # What is not known as a fact may still have been said.
        name = text.fold(_POSSESSIVE.sub("", wants.rest.strip()))
        spoken = [one for one in briefing.recalled if name in text.fold(one.text)]
        return replace(briefing, recalled=_listed(found, message) or spoken)
    lean = "future" if wants.name == "planned_on" else "past"
    when = _days(briefing.text, now=briefing.now, lean=lean)
    if when is None:
        return replace(briefing, recalled=briefing.recalled, days="")
    span = {"gte": when.start, "lt": when.end}
    if wants.name == "planned_on":
        plans = facts.filter(occurs_at__gte=when.start, occurs_at__lt=when.end)
        rows = _listed(plans.order_by("occurs_at"), message)
        rows += _spoken_of(message, when, known=[row.quote for row in rows])
    elif wants.name == "new":
        rows = _listed(facts.filter(created_at__gte=when.start).order_by("created_at"), message)
    else:
        said = Message.objects.filter(said_by_same(message), not_recalled="", silenced_by=None)
        said = said.filter(chat=message.chat, **{f"sent_at__{one}": at for one, at in span.items()})
        rows = [_heard(one, message) for one in said.order_by("sent_at", "pk")[:LISTED]]
    return replace(briefing, recalled=rows, days=when.phrase)


def _about_whom(whom: str, facts: QuerySet, message: Message) -> QuerySet:
    """The facts about whom or what is named: "Lucía", "my sister", "my sister Nell", "the boat"."""
    name = _POSSESSIVE.sub("", whom)
    # The whole word, with its accents or without: "mañana" does not speak of Ana.
    word = rf"\m{text.loose_pattern(name)}(?:'?s)?\M"
    named = Q(text__iregex=word) | Q(subject__iregex=word) | Q(said_by__iexact=name, subject="")
    if name != whom:
        named &= said_by_same(message, prefix="message__")
    somebody = {pk for one in _meant(whom, name, message) for pk in people.group(one)}
    told = people.facts_of(somebody, Mention.Role.ABOUT, Mention.Role.NAMED)
    return facts.filter(named | Q(pk__in=told.values("pk")))


def _meant(whom: str, name: str, message: Message) -> list[Entity]:
    """By name, or by whose kin they are; of several sisters the one that is named."""
    space, chat = message.space, message.chat
    kin = kinsfolk(whom)
    if kin is None:
        return people.known_as(space, chat, name)
    start = people.known_as(space, chat, kin.owner or message.author)
    relatives = people.relatives(start, kin.path, chat=chat)
    said = set(text.words(text.fold(whom)))
    return [one for one in relatives if said.intersection(one.keys)] or relatives


def _spoken_of(message: Message, days: Cue, *, known: Sequence[str]) -> list[Recalled]:
    """What whoever asks said lately about these days and did not become a fact."""
    lately = Message.objects.filter(said_by_same(message), chat=message.chat, not_recalled="")
    lately = lately.filter(silenced_by=None, pk__lt=message.pk).order_by("-pk")[:LATELY]
    found = []
    for one in lately:
        if says_when(one.text) and not any(quote in one.text for quote in known if quote):
            when = _days(one.text, now=one.sent_at.astimezone(days.start.tzinfo), lean="future")
            if when and when.start < days.end and days.start < when.end:
                found.append(_heard(one, message))
    return found[::-1]


def _days(said: str, *, now: datetime, lean: str) -> Cue | None:
    """The first days that are spoken of, by the clock of the space; "Thursday" as `lean` says."""
    language = text.detect_language(said) or "en"
    for when in resolve(said, said_at=now, language=language, lean=lean):
        if when.first and when.last and when.dated:
            ends = (when.first, when.last + timedelta(days=1))
            start, end = (datetime.combine(day, datetime.min.time(), now.tzinfo) for day in ends)
            return Cue(_LEAD.sub("", said[when.start : when.end].strip(" ?¿")), start, end)
    return None


def _about(wants: intents.Intent, message: Message, built: context.Context) -> list[Recalled]:
    """What other chats know about whom the list is asked for."""
    name = text.fold(_POSSESSIVE.sub("", wants.rest.strip()))
    away = _elsewhere(message, built)
    return [one for one in away if name in text.fold(f"{one.subject} {one.text}")]


def _listed(facts: QuerySet, message: Message) -> list[Recalled]:
    own = set(facts.filter(said_by_same(message, prefix="message__")).values_list("pk", flat=True))
    ordered = facts if facts.ordered else facts.order_by("subject", "category", "-pinned", "pk")
    return [
        Recalled(
            fact.text, quote=fact.quote, said_by=fact.said_by, said_at=fact.last_seen_at,
            subject=fact.subject, by_asker=fact.pk in own, fact=fact.pk,
        )
        for fact in ordered[:LISTED]
    ]  # fmt: skip


def _elsewhere(message: Message, built: context.Context) -> list[Recalled]:
    """What other chats know of it, for a member, who may look there; nobody else hears of it."""
    member = chat_links.member_of(message)
    if not member or not hears_the_space(message.chat):
        return []
    found = recall(
        message.space, built.briefing.text, person=message.author, now=built.briefing.now,
        everywhere=True, save=False, kinds=("fact",), limit=ELSEWHERE,
    )  # fmt: skip
    away = {item.unit.owner_id for item in found.items if item.unit.chat_id != message.chat_id}
    # A private chat is named only to its owner, and only where nobody else reads.
    told = Q(chat__is_private=False)
    if message.chat.is_private:
        told |= Q(chat__owner=member)
    facts = Fact.objects.live().filter(told, pk__in=away).select_related("chat")
    rows = {fact.pk: fact for fact in facts}
    own = set(facts.filter(said_by_same(message, prefix="message__")).values_list("pk", flat=True))
    return [
        Recalled(fact.text, subject=fact.subject, said_by=fact.said_by, place=str(fact.chat),
                 quote=fact.quote, by_asker=fact.pk in own,
                 link=page("facts:detail", message.space.slug, fact.pk))
        for item in found.items
        if (fact := rows.get(item.unit.owner_id))
    ]  # fmt: skip
