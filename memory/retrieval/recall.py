"""Find what matters for a message, fast, and say why."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from django.db import DatabaseError, transaction
from django.utils import timezone

from memory import embeddings, text
from memory.llm import embed
from memory.llm.embed import EmbeddingFailed
from memory.models import Chat, Message, Recall, Space
from memory.retrieval import diversity, gate, lanes, profiles, receipts, scoring
from memory.retrieval.clock import Clock
from memory.retrieval.keywords import Expand
from memory.retrieval.lanes import KINDS, Candidate, Found, Habit, Scope
from memory.retrieval.past import Past
from memory.retrieval.profiles import Profile
from memory.retrieval.ranking import Scored
from memory.retrieval.understand import Question, understand

log = logging.getLogger(__name__)

LIMIT = 20
# As seed 002: a few episodes say enough, facts are short.
CAPS = {"episode": 3}
KINDS_BY_WORTH = ("fact", "message", "episode")
BACKFILL = 8
# Date, speaker and list mark of a memory in the prompt, in tokens.
OVERHEAD = 8
Judge = Callable[[list[str]], object]
_BESIDE = ThreadPoolExecutor(4, thread_name_prefix="embed")


@dataclass
class Recalled:
    """What came to mind. `items` are for the prompt; `cut` was weighed and left out."""

    question: Question
    items: list[Scored] = field(default_factory=list)
    cut: list[Scored] = field(default_factory=list)
    habits: list[Habit] = field(default_factory=list)
    confidence: float = 0.0
    level: str = Recall.Level.NONE
    mode: str = "none"
    profile: Profile | None = None
    strict: bool = False
    candidates: int = 0
    tokens: int = 0
    budget: int = 0
    ms: dict[str, float] = field(default_factory=dict)
    error: str = ""
    receipt: Recall | None = None


@dataclass(frozen=True)
class Asked:
    """Everything a recall was asked for."""

    space: Space
    text: str
    scope: Scope
    now: datetime
    chat: Chat | None = None
    person: str = ""
    limit: int = LIMIT
    caps: dict[str, int] = field(default_factory=lambda: CAPS)
    kinds: Sequence[str] = KINDS
    profile: Profile | None = None
    strict: bool = False
    budget: int | None = None
    seen: Sequence[int] = ()
    seen_texts: Sequence[str] = ()
    cost: Callable[[Candidate], int] = lambda unit: text.token_estimate(unit.text) + OVERHEAD
    expand: Expand | None = None
    judge: Judge | None = None
    # Whether anything may be written, and the day that is asked about instead of today.
    save: bool = True
    then: Past | None = None


def recall(
    space: Space,
    text: str,
    *,
    chat: Chat | None = None,
    person: str = "",
    now: datetime | None = None,
    everywhere: bool = False,
    profile: Profile | str | None = None,
    strict: bool | None = None,
    message: Message | None = None,
    save: bool = True,
    as_of: datetime | None = None,
    **more: object,
) -> Recalled:
    """Never raises: what goes wrong is logged, stands on the receipt, and leaves less to recall.

    A chat sees its own memory and that of the whole space; `everywhere` (every chat) is for people
    who look through their space. `more` may name limit, caps, kinds, budget, cost (tokens of one
    memory), seen and seen_texts (messages that are in the prompt already, by id and by words),
    expand and judge (models; both optional).

    Without `save` nothing is written: no receipt, no vector. `as_of` asks what would have come to
    mind at that time, from memory as it stood; it is the now of the question and writes nothing.
    """
    now, save = as_of or now or timezone.now(), save and as_of is None
    result, clock = Recalled(Question(text)), Clock()
    try:
        asked = Asked(
            space=space,
            text=text,
            scope=Scope.whole(space) if everywhere else Scope.of(space, chat),
            now=now,
            chat=chat,
            person=person,
            profile=profile if isinstance(profile, Profile) else profiles.get(space, profile or ""),
            strict=space.options.recall_strict if strict is None else strict,
            save=save,
            then=Past(space.pk, as_of) if as_of else None,
            **more,
        )
        result = _recall(asked, clock)
    except Exception as error:
        log.exception("recall failed in space %s", space.pk)
        result.error = f"{type(error).__name__}: {error}"[:500]
    result.ms = clock.ms
    if save:
        asked_by = {"space": space, "chat": chat, "person": person, "message": message}
        result.receipt = _saved(result, now=now, **asked_by)
    return result


def _recall(asked: Asked, clock: Clock) -> Recalled:
    with clock("understand"):
        question = understand(
            asked.text,
            scopes=asked.scope.here[:60],
            now=asked.now,
            zone=asked.space.timezone,
            person=asked.person,
            expand=asked.expand,
            then=asked.then,
        )
    result = Recalled(question, profile=asked.profile, strict=asked.strict)
    with clock("embed"):
        vectors = _vectors(question, result)
    with clock("lanes"):
        found = _collect(asked, question, vectors)
    with clock("backfill"):
        if asked.save and _backfill(found):
            found = _collect(asked, question, vectors)
    with clock("rank"):
        ranked, passes = scoring.score(
            asked.profile,
            question,
            found,
            now=asked.now,
            chat_id=asked.chat and asked.chat.pk,
            strict=asked.strict,
        )
        kept = gate.apply(ranked, passes, strict=asked.strict)
        _choose(asked, _diverse(asked.profile, kept), result)
        result.cut = [one for one in ranked if one.cut]
    result.mode = "hybrid" if vectors else "words"
    result.candidates, result.habits = len(found.units), found.habits
    return result


def _vectors(question: Question, result: Recalled) -> tuple | None:
    """The question without names and as asked; None leaves words to answer alone."""
    embedder = embeddings.active()
    if embedder is None or len(question.text) < 3:
        return None
    try:
        # Two vectors take as long as one: the second is made beside the first.
        same = question.bare == question.text
        beside = None if same else _BESIDE.submit(embed.embed_query, question.text, by=embedder)
        bare = embed.embed_query(question.bare, by=embedder)
        return embedder, bare, beside.result() if beside else bare
    except EmbeddingFailed as error:
        log.warning("recall goes by words alone: %s", error)
        result.error = f"By words alone: {error}"
        return None


def _collect(asked: Asked, question: Question, vectors: tuple | None) -> Found:
    meaning = {"embedder": vectors[0], "vectors": vectors[1:]} if vectors else {}
    found = lanes.collect(
        asked.scope,
        question,
        now=asked.now,
        kinds=asked.kinds,
        seen=asked.seen,
        then=asked.then,
        **meaning,
    )
    if question.cues:
        # Seed 002: a question about a time gets the episodes of that time, and no others.
        found.units = [unit for unit in found.units if _in_time(unit, question)]
    return found


def _in_time(unit: lanes.Candidate, question: Question) -> bool:
    return unit.kind != "episode" or any(
        cue.distance(unit.at, unit.until) == 0 for cue in question.cues
    )


def _backfill(found: Found) -> int:
    """A few memories that came without a vector get one while we are here."""
    bare = [unit.id for unit in found.units if unit.bare is None][:BACKFILL]
    if not bare or embeddings.active() is None:
        return 0
    try:
        with transaction.atomic():
            return embeddings.put(bare)
    except DatabaseError:
        log.warning("backfilling vectors failed", exc_info=True)
        return 0


def _choose(asked: Asked, kept: list[Scored], result: Recalled) -> None:
    """Take the best that fit into the limits and the budget, and say how sure we are."""
    chosen = _fit(asked, _select(asked, kept))
    result.items = chosen
    result.tokens = sum(one.tokens for one in chosen)
    result.budget = asked.budget or 0
    best = max((one.confidence for one in chosen), default=0.0)
    result.confidence = gate.judged(best, [one.unit.text for one in chosen[:5]], asked.judge)
    result.level = gate.level(result.confidence, found=bool(chosen))


def _select(asked: Asked, kept: list[Scored]) -> list[Scored]:
    """At most so many, so many of a kind, and none that only says what is there already."""
    counts, chosen = Counter(), []
    here, said = diversity.Said(asked.seen_texts), diversity.Said()
    for one in kept:
        kind = one.unit.kind
        if counts[kind] >= asked.caps.get(kind, asked.limit) or len(chosen) >= asked.limit:
            one.cut = "limit"
        elif here.again(one.unit.text):
            one.cut = "seen"
        elif said.again(one.unit.text):
            one.cut = "same"
        else:
            counts[kind] += 1
            said.add(one.unit.text)
            chosen.append(one)
    return chosen


def _fit(asked: Asked, chosen: list[Scored]) -> list[Scored]:
    """Where the budget is short, facts stay before turns, and turns before episodes."""
    room = asked.budget if asked.budget is not None else float("inf")
    for one in sorted(chosen, key=lambda one: KINDS_BY_WORTH.index(one.unit.kind)):
        one.tokens = asked.cost(one.unit)
        if one.tokens > room:
            one.cut = "budget"
        else:
            room -= one.tokens
    return [one for one in chosen if not one.cut]


def _diverse(profile: Profile, kept: list[Scored]) -> list[Scored]:
    """The best of them reordered, where the profile asks for variety."""
    balance = profile.settings.get("diversity", 1.0)
    if balance >= 1 or len(kept) < 2:
        return kept
    head, tail = kept[: 3 * LIMIT], kept[3 * LIMIT :]
    low, spread = head[-1].score, (head[0].score - head[-1].score) or 1.0
    mixed = diversity.mmr(
        head,
        score=lambda one: (one.score - low) / spread,
        words=lambda one: diversity.signs(one.unit.text),
        balance=balance,
    )
    return mixed + tail


def _saved(result: Recalled, **given: object) -> Recall | None:
    try:
        with transaction.atomic():
            return receipts.write(result, **given)
    except Exception:
        # A receipt that cannot be written must not cost the answer.
        log.exception("the receipt of a recall could not be written")
        return None
