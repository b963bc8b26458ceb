"""Build the prompt of one reply: identity, history and what was recalled."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q
from django.utils import timezone

from memory import identity, patterns, working
from memory.chats import service as chats
from memory.chats import summary
from memory.extraction import intents
from memory.extraction.edges import is_over
from memory.extraction.frames.compare import compare
from memory.facts import lasting
from memory.facts.service import RULED_OUT
from memory.llm.pricing import counter
from memory.llm.request import Briefing, Turn
from memory.llm.request import Recalled as Briefed
from memory.models import Chat, Episode, Fact, Message, RecallItem, Unit, WorkingNote
from memory.models.prepared import prepared_update
from memory.patterns import Match
from memory.prompt import sections
from memory.retrieval import gate, receipts
from memory.retrieval.keywords import Expand
from memory.retrieval.ranking import Scored
from memory.retrieval.recall import UNASKED, Judge, Recalled, add_surroundings, recall
from memory.retrieval.understand import asks_earlier
from memory.rulings import Unmentioned
from memory.spaces.chat_links import hears_the_space, ids_of, said_by_same
from memory.text.normalise import fold, folded_words, token_estimate

log = logging.getLogger(__name__)

# Short-term history comes before recalled memory, but may not starve it.
HISTORY_SHARE = 0.5
ALWAYS_SEEN = 2
# Turns that are printed with what was said before and after them.
WITH_SURROUNDINGS = 4
MAX_PATTERNS = 5
MAX_OTHERS = 3
# Headings and marks around what was recalled, in tokens.
HEADINGS = 60
SENTENCES = re.compile(r"(?<=[.!?…:;])\s+|\n+")
# Spanish says "you" by the verb; these are the ones that facts are told with.
YOU = re.compile(
    r" (?:you|your|yours|tu|tus|te|usted|vives|tienes|eres|trabajas|naciste|prefieres|usas) "
)


@dataclass
class Context:
    """Everything for one request. `system` begins with what is stable, for the provider's cache."""

    system: list[str]
    messages: list[Turn]
    # Tokens a section, in the order of their importance.
    sections: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
    recall: Recalled | None = None
    habits: list[Match] = field(default_factory=list)
    history: list[Message] = field(default_factory=list)
    memory: str = ""
    # What the model looked up by itself before it answered.
    looked_up: list[Scored] = field(default_factory=list)
    # The facts of a list in the reply ("what do you know about me?"), by their ids.
    listed: list[int] = field(default_factory=list)
    # What was so before it changed, where that is asked.
    earlier: list[Fact] = field(default_factory=list)
    briefing: Briefing | None = None
    error: str = ""

    @property
    def had_memory(self) -> bool:
        return bool(self.recall and self.recall.items)


def build(
    chat: Chat,
    text: str,
    *,
    now: datetime | None = None,
    person: str = "",
    group: Sequence[Message] = (),
    language: str = "",
    expand: Expand | None = None,
    judge: Judge | None = None,
    first_talk: bool | None = None,
    **trying: Any,
) -> Context:
    """Build the context of a reply; when memory fails, with the identity and a note alone.

    `group` are the messages to answer; they are neither history nor recalled.
    `trying` are options of recall() for trying out: save, profile, strict.
    """
    now = now or timezone.now()
    language = language or chat.language or chat.space.language
    if identity.bootstrap.is_active(chat.space, chat=chat.pk) if first_talk is None else first_talk:
        return _bootstrap(chat, text, now=now, person=person, group=group, language=language)
    draft = _Draft(chat, text, now, person, group)
    system = identity.prompt(chat.space, pairs=draft.pairs)
    context = Context([system, sections.MEMORY_RULES], [])
    try:
        draft.gather(expand=expand, judge=judge, **trying)
        context.memory = draft.printed()
    except Exception as error:
        log.exception("memory could not be gathered for chat %s", chat.pk)
        context.error = f"{type(error).__name__}: {error}"[:500]
        context.memory = f"_{sections.FAILED}_"
    return _finish(context, draft, language=language)


def keep(context: Context, *, reply: Message, now: datetime | None = None) -> dict[int, str]:
    """Attach the receipt to the reply and count what it used. Call it where the reply is saved.

    Returns what the reply made of the memories, see marks().
    """
    now = now or timezone.now()
    if context.briefing and intents.read(context.briefing.text).name != "correct":
        lasting.uphold(chat=reply.chat_id)
    reply_marks = marks(context, reply.text)
    told = {"reply": reply.text, "question": context.briefing.text if context.briefing else ""}
    listed = [fact.pk for fact in context.earlier if receipts.is_used(fact.text, **told)]
    listed += context.listed
    if context.recall and context.recall.receipt:
        receipts.attach(
            context.recall.receipt,
            reply=reply,
            sections=context.sections,
            marks=reply_marks,
            habits=[(match.pattern.pk, match.score) for match in context.habits],
            unsaved=context.recall.unjudged == UNASKED,
        )
        receipts.add(context.recall.receipt, context.looked_up, reply=reply.text)
        receipts.add_listed(context.recall.receipt, listed)
    items = [*_items(context), *context.looked_up]
    used = {item.unit.owner_id for item in items if item.unit.kind == "fact"}
    used.update(listed)
    # A count is not worth waiting for: replies that use the same facts would block each other.
    if used:
        _count_use(facts=sorted(used), now=now)
    patterns.reinforce([match.pattern for match in context.habits], now=now)
    return reply_marks


@prepared_update(facts="bigint[]", now="timestamptz")
def _count_use(facts, now):
    free = Fact.objects.select_for_update(skip_locked=True, no_key=True).filter(pk__any_of=facts)
    rows = Fact.objects.filter(pk__in=free.order_by("pk").values("pk"))
    return rows, {"use_count": F("use_count") + 1, "last_used_at": now}


def marks(context: Context, reply: str) -> dict[int, str]:
    """Return what the reply makes of the recalled memories, by rank: used, or contradicted."""
    if context.briefing is None:
        return {}
    used: dict[int, str] = {}
    for rank, memory in enumerate(context.briefing.recalled, start=1):
        if memory.kind == "fact" and contradicts(memory, reply):
            used[rank] = str(RecallItem.Mark.CONTRADICTED)
        elif receipts.is_used(memory.text, reply=reply, question=context.briefing.text):
            used[rank] = str(RecallItem.Mark.USED)
    return used


def contradicts(fact: Briefed, reply: str) -> bool:
    """Tell whether a sentence of the reply cannot stand beside the fact about the same person."""
    return any(
        _is_about(fact, sentence) and compare(fact.text, sentence, likeness=None).changes
        for sentence in SENTENCES.split(reply)
        if not sentence.rstrip().endswith("?")
    )


def _is_about(fact: Briefed, sentence: str) -> bool:
    folded = f" {' '.join(folded_words(sentence))} "
    if fact.by_asker and YOU.search(folded):
        return True
    return not fact.subject or f" {fold(fact.subject)} " in folded


class _Draft:
    """A context while it is built: its parts, and the tokens that are left."""

    def __init__(self, chat, text, now, person, group):
        self.chat, self.text, self.now, self.person, self.group = chat, text, now, person, group
        self.space = chat.space
        # Who asks, by their ids: wishes of others are not for them.
        self.pairs = ids_of(group[-1]) if group else frozenset()
        self.shared = hears_the_space(chat)
        self.zone = chat.space.zone
        self.count = counter(chat.space)
        self.room = chat.space.options.token_budget
        self.sections: dict[str, int] = {}
        self.printed_parts: dict[str, str] = {}
        self.history: list[Message] = []
        self.recalled: Recalled | None = None
        self.matches: list[Match] = []
        self.earlier: list[Fact] = []
        self.note: WorkingNote | None = None

    def gather(self, **options: Any) -> None:
        """Collect in the order of importance: working note, history, then what is recalled."""
        self._working_note()
        self._unworded_preferences()
        self._chat_context()
        self._summary()
        self._history()
        self._patterns()
        if self.space.options.use_retrieval:
            self._recall(**options)
        else:
            self._newest()

    def printed(self) -> str:
        """Return the sections in the order in which a model reads them."""
        first = ("relevance", "facts", "earlier", "notes", "preferences", "context", "summary")
        last = ("chat_facts", "turns", "working", "patterns")
        parts = (self.printed_parts.get(name) for name in (*first, *last))
        return "\n\n".join(filter(None, parts))

    def _working_note(self) -> None:
        self.note = working.current(self.chat, now=self.now)
        if self.note:
            age = sections.age(self.note.updated_at, self.now)
            lines = map(sections.line, working.as_text(self.note).splitlines())
            self._add("working", f"Working memory (updated {age})", lines)

    def _unworded_preferences(self) -> None:
        """Add what no person worded as data: it never stands in the system role."""
        rows = identity.preferences.active(self.space, pairs=self.pairs)
        rest = [row for row in rows if not identity.preferences.is_worded(row)]
        lines = [f"- {sections.line(f'{row.key}: {row.value}')}" for row in rest]
        self._add("preferences", "Wishes that nobody confirmed", lines)

    def _chat_context(self) -> None:
        self._add("context", "Chat context", map(sections.line, self.chat.context.splitlines()))

    def _summary(self) -> None:
        """Add what was said before the short-term window, in short."""
        row = summary.current(self.chat)
        lines = map(sections.line, row.text.splitlines() if row else [])
        self._add("summary", "Earlier in this chat, in short", lines)

    def _history(self) -> None:
        before = self.group[0] if self.group else None
        messages = chats.short_term(self.chat, now=self.now, before=before)
        room, kept = self.room * HISTORY_SHARE, []
        for message in reversed(messages):
            cost = self.count(message.text) + 4
            if cost > room and len(kept) >= ALWAYS_SEEN:
                break
            room -= cost
            kept.append(message)
            self.sections["history"] = self.sections.get("history", 0) + cost
        self.history = kept[::-1]
        self.room = max(0, self.room - self.sections.get("history", 0))

    def _patterns(self) -> None:
        matches = patterns.match(
            self.space,
            text=self.text,
            chat=self.chat,
            at_least=patterns.INJECTED_FROM,
            shared=self.shared,
        )
        matches = matches[:MAX_PATTERNS]
        rows = [match.pattern for match in matches]
        lines = [f"- {sections.line(row.trigger)}: {sections.line(row.response)}" for row in rows]
        if self._add("patterns", "Habits that fit", lines):
            self.matches = matches

    def _recall(self, **options: Any) -> None:
        self.recalled = recall(
            self.space,
            self.text,
            chat=self.chat,
            person=self.person,
            now=self.now,
            budget=max(0, self.room - HEADINGS),
            cost=lambda unit: self.count(sections.RENDER[unit.kind](unit, self.zone)) + 1,
            message=self.group[-1] if self.group else None,
            seen=[message.pk for message in (*self.history, *self.group)],
            seen_texts=[message.text for message in self.history],
            prompt=True,
            **options,
        )
        items, level = self.recalled.items, self.recalled.level
        for unit in (item.unit for item in items):
            lasts = unit.lasts or ""
            unit.stale = lasting.stale_since(lasts, unit.checked, self.space, now=self.now)
        left = self.room - HEADINGS - self.recalled.tokens
        add_surroundings(items[:WITH_SURROUNDINGS])
        for item in items:
            left -= self.count(sections.beside(item))
            if left < 0:
                item.around = []
        self._put("relevance", sections.relevance(level, gate.describe(level)))
        mine = [item for item in items if item.unit.chat_id is not None]
        shared = [item for item in items if item.unit.chat_id is None]
        self._print("facts", "Long-term memory", shared, "fact")
        self._print("notes", "Recent notes", shared, "episode")
        self._print("chat_facts", "Chat-specific memory", mine, "fact")
        self._print("turns", "Chat-specific notes", mine, "episode", "message")
        if asks_earlier(self.text):
            seen = [item for item in self.recalled.cut if item.cut == RecallItem.Cut.SEEN]
            self.earlier = _facts_before(self.chat, self.text, [*items, *seen])
            lines = (sections.past_fact(fact, self.zone) for fact in self.earlier)
            self._add("earlier", "No longer so", lines)

    def _print(self, name: str, heading: str, items: list[Scored], *kinds: str) -> None:
        lines = []
        for item in items:
            if item.unit.kind in kinds:
                unit = sections.RENDER[item.unit.kind](item.unit, self.zone)
                lines += [unit, sections.beside(item)]
        self._add(name, heading, lines)

    def _newest(self) -> None:
        """Without recall: add the newest facts and the notes of the last days."""
        # What recall could find: nothing held back, discarded or forgotten.
        live = Unit.objects.filter(space=self.space, live=True).values("owner_id")
        own = Q(chat=None) | Q(chat=self.chat) if self.shared else Q(chat=self.chat)
        facts = Fact.objects.filter(own, space=self.space, pk__in=live.filter(kind="fact"))
        newest = [fact.text for fact in facts.order_by("-updated_at")[:200]]
        self._fit("facts", "Long-term memory", newest)
        since = self.now - timedelta(days=self.space.options.memory_days)
        notes = Episode.objects.filter(own, space=self.space, started_at__gte=since)
        notes = notes.filter(pk__in=live.filter(kind="episode"))
        newest = [f"{note.title} {note.body}" for note in notes.order_by("-started_at")[:100]]
        self._fit("notes", "Recent notes", newest)

    def _fit(self, name: str, heading: str, texts: list[str]) -> None:
        lines, room = [], self.room - self.count(heading)
        for text in texts:
            line = f"- {sections.line(text)}"
            room -= self.count(line) + 1
            if room < 0:
                break
            lines.append(line)
        self._add(name, heading, lines)

    def _add(self, name: str, heading: str, lines: Iterable[str]) -> bool:
        return self._put(name, sections.section(heading, lines))

    def _put(self, name: str, printed: str) -> bool:
        """Add the section when there is room; tell whether it was added."""
        cost = self.count(printed) if printed else 0
        if not cost or cost > self.room:
            return False
        self.printed_parts[name] = printed
        self.sections[name] = cost
        self.room -= cost
        return True


def _finish(context: Context, draft: _Draft, *, language: str) -> Context:
    turns = [_turn(message) for message in draft.history]
    block = f"{sections.fence(context.memory)}\n\n" if context.memory else ""
    context.messages = [*turns, {"role": "user", "content": block + draft.text}]
    context.recall, context.habits = draft.recalled, draft.matches
    context.history, context.earlier = draft.history, draft.earlier
    context.tokens = sum(draft.sections.values())
    # Beside the sections the whole prompt, uncorrected: what the provider's own count is held to.
    whole = [*context.system, *(turn["content"] for turn in context.messages)]
    context.sections = draft.sections | {"prompt": sum(map(token_estimate, whole))}
    if draft.recalled and not context.error:
        context.error = draft.recalled.error
    note = draft.note if not context.error else None
    asked_in = draft.group[-1] if draft.group else None
    # Not recalled only because the short-term window says the same already.
    cut = context.recall.cut if context.recall else []
    heard = [item for item in cut if item.cut == RecallItem.Cut.SEEN]
    context.briefing = Briefing(
        text=draft.text,
        now=draft.now.astimezone(draft.zone),
        language=language,
        person=draft.person,
        recalled=[
            *briefed(_items(context), asked_in),
            *_facts_briefed(draft.earlier, asked_in, outdated=True),
        ],
        heard=briefed(heard, asked_in),
        confidence=draft.recalled.confidence if draft.recalled else 0.0,
        level=draft.recalled.level if draft.recalled else "none",
        working=working.as_text(note) if note else "",
    )
    return context


def _bootstrap(chat: Chat, text: str, *, now, person, group, language) -> Context:
    """Build the prompt of a first conversation, which reads no memory."""
    system = [identity.prompt(chat.space, with_preferences=False), sections.BOOTSTRAP]
    before = chats.short_term(chat, now=now, before=group[0] if group else None)
    turns = [*map(_turn, before), {"role": "user", "content": text}]
    briefing = Briefing(text=text, now=now, language=language, person=person)
    return Context(system, turns, briefing=briefing)


def _items(context: Context) -> list[Scored]:
    return context.recall.items if context.recall else []


def _turn(message: Message) -> Turn:
    assistant = message.role == Message.Role.ASSISTANT
    return {"role": "assistant" if assistant else "user", "content": message.text}


def briefed(items: list[Scored], asked_in: Message | None) -> list[Briefed]:
    """Return what was recalled as the built-in provider reads it; `asked_in` is who asks."""
    own = _own(items, asked_in) if asked_in and items else set()
    return [
        Briefed(
            # An episode's title is often how its body begins.
            text="\n".join(dict.fromkeys(unit.text.splitlines())),
            kind=unit.kind,
            quote=unit.quote or "",
            subject=unit.speaker if unit.kind == "fact" else "",
            said_by=unit.said_by,
            said_at=unit.said_at,
            score=item.score,
            by_asker=(unit.kind, unit.owner_id) in own,
            stale=unit.stale,
            via=item.via,
            asked=item.asked,
            outdated=unit.kind == "message" and unit.replaced_by is not None,
            opposed=unit.opposed,
            replies_to=unit.replies_to,
        )
        for item in items
        for unit in [item.unit]
    ] + _facts_briefed(_facts_beside_an_end(items, asked_in), asked_in)


def _facts_briefed(
    facts: Sequence[Fact], asked_in: Message | None, *, outdated: bool = False
) -> list[Briefed]:
    mine: set[int] = set()
    if facts and asked_in:
        told_in = [fact.message_id for fact in facts if fact.message_id]
        own = Message.objects.filter(said_by_same(asked_in), pk__in=told_in)
        mine = set(own.values_list("pk", flat=True))
    return [
        Briefed(
            fact.text, quote=fact.quote, subject=fact.subject, said_by=fact.said_by,
            said_at=fact.last_seen_at, by_asker=fact.message_id in mine, outdated=outdated,
        )
        for fact in facts
    ]  # fmt: skip


def _facts_beside_an_end(items: list[Scored], asked_in: Message | None) -> list[Fact]:
    """Return the other facts of a message that told an end: "I left Google, I joined Netflix".

    Only what this chat may know: one of them may be shared with the space and the other not.
    """
    recalled = [item.unit for item in items if item.unit.kind == "fact"]
    over = [unit.owner_id for unit in recalled if is_over(unit.text)]
    if not over or asked_in is None:
        return []
    others = Fact.objects.in_scope(asked_in.chat).live().filter(message__facts__in=over)
    others = others.exclude(pk__in=[unit.owner_id for unit in recalled])
    return list(others.order_by("pk").distinct()[:MAX_OTHERS])


def _facts_before(chat: Chat, question: str, items: list[Scored]) -> list[Fact]:
    """Return what these memories told before it changed, newest first.

    Never what was forgotten, never was true, or is not to be mentioned.
    """
    facts, messages = (
        [item.unit.owner_id for item in items if item.unit.kind == kind]
        for kind in ("fact", "message")
    )
    told = Q(message__in=messages) | Q(superseded_by__message__in=messages)
    rows = Fact.objects.in_scope(chat).filter(
        told | Q(superseded_by__in=facts),
        status=Fact.Status.SUPERSEDED,
        superseded_by__status=Fact.Status.ACTIVE,
        message__silenced_by=None,
    )
    rows = rows.exclude(flags__contains=[RULED_OUT]).order_by("-last_seen_at", "-pk")
    unmentioned = Unmentioned(chat.space, question)
    mentioned = [row for row in rows if not unmentioned.covers("fact", row.pk, row.text)]
    return mentioned[:MAX_OTHERS]


def _own(items: list[Scored], asked_in: Message) -> set[tuple[str, int]]:
    """Return what the asker said: facts, messages, and episodes in which nobody else spoke.

    It goes by their ids and never by a name.
    """
    facts, messages, episodes = (
        [item.unit.owner_id for item in items if item.unit.kind == kind]
        for kind in ("fact", "message", "episode")
    )
    mine = said_by_same(asked_in)
    own = Message.objects.filter(mine, Q(pk__in=messages) | Q(facts__in=facts))
    pairs = set(own.values_list("pk", "facts"))
    rows = {("message", pk) for pk, _fact in pairs} | {("fact", fact) for _pk, fact in pairs}
    if episodes:
        spoken = Message.objects.filter(episode__in=episodes, role=Message.Role.USER)
        of_others = spoken.exclude(mine).values("episode")
        alone = spoken.exclude(episode__in=of_others).values_list("episode", flat=True)
        rows |= {("episode", pk) for pk in alone.distinct()}
    return rows
