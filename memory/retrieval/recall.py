"""Find what matters for a message, fast, and say why."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from memory import people, rulings
from memory.models import Chat, Entity, Message, Recall, Space
from memory.models.encryption import opened
from memory.models.space import in_turn
from memory.retrieval import gate, lanes, profiles, receipts, scoring
from memory.retrieval.keywords import Expand
from memory.retrieval.lanes import KINDS, Candidate, Candidates, Habit, Scope
from memory.retrieval.past import Past
from memory.retrieval.profiles import Profile
from memory.retrieval.ranking import Repetition, Scored, mmr, topic_words
from memory.retrieval.understand import (
    Kinsfolk,
    Question,
    ask_by_name,
    asks_who,
    follow,
    kinsfolk,
    understand,
)
from memory.text import normalise as text
from memory.vectors import embed
from memory.vectors import store as embeddings
from memory.vectors.embed import Embedder, EmbeddingFailed

log = logging.getLogger(__name__)

LIMIT = 20
# As seed 002: a few episodes say enough, facts are short.
MAX_BY_KIND = {"episode": 3}
KINDS_BY_WORTH = ("fact", "message", "episode")
MAX_BACKFILL = 8
# How many facts may have replaced each other.
MAX_REPLACED = 20
# How often it is asked further, from how many of the best, and how much of that is taken.
MOST_HOPS, MOST_LEADS, MOST_FOUND = 2, 3, 3
# Date, speaker and list mark of a memory in the prompt, in tokens.
TOKENS_PER_ITEM = 8
Judge = Callable[[list[str]], object]
# Who knows of open contradictions: (space, facts) -> pairs of facts, one of each pair among them.
# Memory knows of no proposals; sleep adds its own.
OPPOSED: list[Callable[[Space, list[int]], list[tuple[int, int]]]] = []
_EMBED_POOL = ThreadPoolExecutor(4, thread_name_prefix="embed")


class Stopwatch:
    """Measures how many milliseconds each stage takes."""

    def __init__(self):
        self.ms: dict[str, float] = {}
        self.began = time.perf_counter()

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            now = time.perf_counter()
            self.ms[stage] = round((now - began) * 1000, 2)
            self.ms["total"] = round((now - self.began) * 1000, 2)


@dataclass
class Recalled:
    """The result of a recall. `items` are for the prompt; `cut` was scored and left out."""

    question: Question
    items: list[Scored] = field(default_factory=list)
    cut: list[Scored] = field(default_factory=list)
    habits: list[Habit] = field(default_factory=list)
    confidence: float = 0.0
    level: str = Recall.Level.NONE
    mode: str = "none"
    profile: Profile | None = None
    strict: bool = False
    prompt: bool = False
    candidates: int = 0
    tokens: int = 0
    budget: int = 0
    ms: dict[str, float] = field(default_factory=dict)
    error: str = ""
    # Why the judge did not read the best memories, or not all; empty when it did.
    unjudged: str = ""
    receipt: Recall | None = None


@dataclass(frozen=True)
class RecallRequest:
    """The parameters of one recall."""

    space: Space
    text: str
    scope: Scope
    now: datetime
    profile: Profile
    chat: Chat | None = None
    person: str = ""
    limit: int = LIMIT
    caps: dict[str, int] = field(default_factory=lambda: MAX_BY_KIND)
    kinds: Sequence[str] = KINDS
    strict: bool = False
    # Whether it goes into a prompt, which takes less of what was only talked of than a list.
    prompt: bool = False
    budget: int | None = None
    seen: Sequence[int] = ()
    seen_texts: Sequence[str] = ()
    cost: Callable[[Candidate], int] = lambda unit: text.token_estimate(unit.text) + TOKENS_PER_ITEM
    expand: Expand | None = None
    judge: Judge | None = None
    # Whether anything may be written, and the day that is asked about instead of today.
    save: bool = True
    then: Past | None = None
    # For trials: the judge takes its time, so that the same question is answered the same.
    settled: bool = False


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
    valid_at: datetime | None = None,
    asks: bool = True,
    **more: Any,
) -> Recalled:
    """Recall what matters for a text. Never raises: errors are logged and stand on the receipt.

    A chat sees its own memory and that of the whole space; `everywhere` (every chat) is for people
    who look through their space. `more` may name limit, caps, kinds, budget, cost (tokens of one
    memory), prompt (take only what may help a model), seen and seen_texts (messages that are in
    the prompt already, by id and by words), expand and judge (models; both optional).

    A text that `asks` for nothing gets nothing, and a receipt that says so. Without `save` nothing
    is written: no receipt, no vector. `as_of` asks what would have come to mind at that time, from
    memory as it stood; it is the now of the question and writes nothing.
    `valid_at` asks of another day: what held then as it is believed now, or as of `as_of`.
    """
    now, save = as_of or now or timezone.now(), save and as_of is None and valid_at is None
    result, clock = Recalled(Question(text)), Stopwatch()
    try:
        request = RecallRequest(
            space=space,
            text=text,
            scope=Scope.whole(space) if everywhere else Scope.of(space, chat),
            now=now,
            chat=chat,
            person=person,
            profile=profile if isinstance(profile, Profile) else profiles.get(space, profile or ""),
            strict=space.options.recall_strict if strict is None else strict,
            save=save,
            then=Past(space.pk, now, valid_at) if as_of or valid_at else None,
            **more,
        )
        result = _recall(request, clock) if asks else _unasked(request)
    except Exception as error:
        log.exception("recall failed in space %s", space.pk)
        result.error = f"{type(error).__name__}: {error}"[:500]
    result.ms = clock.ms
    if save:
        # A chat of another space was refused; its name does not stand on a receipt of this one.
        here = chat if chat is None or chat.space_id == space.pk else None
        asked_by = {"space": space, "chat": here, "person": person, "message": message}
        result.receipt = _write_receipt(result, now=now, **asked_by)
    return result


def _unasked(request: RecallRequest) -> Recalled:
    asked = Question(request.text)
    return Recalled(asked, profile=request.profile, strict=request.strict, unjudged="unasked")


def _recall(request: RecallRequest, clock: Stopwatch) -> Recalled:
    with clock("understand"):
        question = understand(
            request.text,
            scopes=request.scope.here[:60],
            now=request.now,
            zone=request.space.zone,
            person=request.person,
            expand=request.expand,
            then=request.then,
        )
    result = Recalled(
        question, profile=request.profile, strict=request.strict, prompt=request.prompt
    )
    with clock("embed"):
        vectors = _vectors(question, result)
    with clock("lanes"):
        candidates = _collect(request, question, vectors)
    with clock("backfill"):
        if request.save and vectors:
            _backfill(candidates, *vectors)
    with clock("rank"):
        ranked, kept, result.unjudged = _rank(request, question, candidates)
        kept = _with_whom_it_names(request, question, kept, ranked)
        kept = _ask_of_kin(request, kept, result) or _ask_on(request, kept, result)
        kept = _with_opposites(request, kept, ranked)
        _choose(request, _current(_diverse(request.profile, kept), ranked), result)
        further = [item for item in kept if item.via]
        result.cut = [item for item in (*ranked, *further) if item.cut]
    result.mode = "hybrid" if vectors else "words"
    result.candidates, result.habits = len(candidates.units), candidates.habits
    return result


def _rank(
    request: RecallRequest, question: Question, candidates: Candidates
) -> tuple[list[Scored], list[Scored], str]:
    """Return everything in its order, what passes the gate, and why the judge left some unread."""
    judge_ms = request.space.options.judge_ms
    ranked, passes, unread = scoring.score(
        request.profile,
        question,
        candidates,
        now=request.now,
        chat_id=request.chat.pk if request.chat else None,
        strict=request.strict,
        prompt=request.prompt,
        judge_ms=math.inf if request.settled and judge_ms else judge_ms,
    )
    unjudged = "off" if not judge_ms else "time" if unread else ""
    return ranked, gate.apply(ranked, passes, strict=request.strict), unjudged


def _with_whom_it_names(
    request: RecallRequest, question: Question, kept: list[Scored], ranked: list[Scored]
) -> list[Scored]:
    """Keep one fact about whom the question names, if the gate leaves nothing about them.

    "What is my son's name?" names whoever is known to be that.
    """
    if request.strict:
        return kept
    names = set(question.names) - set(text.words(text.fold(request.person)))
    whom = kinsfolk(question.text) if asks_who(question) and not request.then else None
    if whom:
        kin = _relatives(request, whom)
        names |= {word for one in kin for word in text.words(text.fold(one.name))[:1]}
    if any(names & set(text.words(text.fold(item.unit.text))) for item in kept):
        return kept
    about = (item for item in ranked if item.unit.kind == "fact" and item.unit.holds)
    best = next((item for item in about if item.unit.speaker in names), None)
    if best is None:
        return kept
    best.cut = ""
    return [*kept, best]


def _relatives(request: RecallRequest, whom: Kinsfolk) -> list[Entity]:
    start = people.known_as(request.space, request.chat, whom.owner or request.person)
    return people.relatives(start, whom.path, chat=request.chat)[:MOST_HOPS]


def _ask_of_kin(request: RecallRequest, kept: list[Scored], result: Recalled) -> list[Scored]:
    """Ask by the name of whom the question describes ("my sister's husband"), if that is known.

    Nothing when nobody is described, or nothing is known of them.
    """
    whom = kinsfolk(result.question.text)
    if whom is None or request.then or asks_who(result.question):
        return []
    for one in _relatives(request, whom):
        asked, told = ask_by_name(result.question, whom, one.name)
        found = _found_by(request, asked, known=set(), by_name=True)
        for item in found:
            item.via, item.asked = told, asked.text
        if found:
            words = [*result.question.expansion, asked.text]
            result.question = replace(result.question, expansion=words)
            keys = {item.key for item in found}
            return [*found, *(item for item in kept if item.key not in keys)]
    return []


def _ask_on(request: RecallRequest, kept: list[Scored], result: Recalled) -> list[Scored]:
    """Ask once or twice more where the best memories name whom the question only describes.

    What that finds stands right behind the memory that led to it, in the lane "hop"; the receipt
    keeps what was asked.
    """
    asked, leads = result.question, kept[:MOST_LEADS]
    talk = _speakers(kept)
    for _hop in range(MOST_HOPS):
        named = ((item, _followed(request, asked, item, talk=talk)) for item in leads)
        lead, further = next(((item, more) for item, more in named if more), (None, None))
        if lead is None or further is None:
            break
        found = _found_by(request, further, known={item.key for item in kept})
        for item in found:
            item.via = lead.unit.text
        place = kept.index(lead) + 1
        kept = [*kept[:place], *found, *kept[place:]]
        words = [*result.question.expansion, further.text]
        result.question, leads, asked = replace(result.question, expansion=words), found, further
    return kept


def _speakers(items: list[Scored]) -> set[str]:
    said_by = {item.unit.speaker for item in items if item.unit.kind == "message"}
    return {word for name in said_by for word in text.words(text.fold(name))[:1]}


def _followed(
    request: RecallRequest, asked: Question, item: Scored, *, talk: set[str]
) -> Question | None:
    spoken = None if item.unit.kind == "fact" else talk
    return follow(asked, item.unit.text, person=request.person, talk=spoken)


def _with_opposites(
    request: RecallRequest, kept: list[Scored], ranked: list[Scored]
) -> list[Scored]:
    """Bring both sides of an open contradiction together, the newer first, each marked."""
    facts = {item.unit.owner_id: item for item in ranked if item.unit.kind == "fact"}
    asked = [pk for pk, item in facts.items() if not item.cut]
    pairs = [pair for tell in OPPOSED if asked for pair in tell(request.space, asked)]
    for both in pairs:
        sides = sorted(
            (facts[pk] for pk in both if pk in facts), key=lambda item: item.unit.said_at
        )
        if len(sides) < 2:
            continue
        older, newer = sides
        place = min(kept.index(item) for item in sides if item in kept)
        rest = [item for item in kept if item not in sides]
        kept = [*rest[:place], newer, older, *rest[place:]]
        for item in sides:
            item.cut, item.unit.opposed = "", True
    return kept


def _found_by(
    request: RecallRequest, question: Question, *, known: set, by_name: bool = False
) -> list[Scored]:
    """What names whom the question asks for now; `by_name` the best facts also below the gate."""
    candidates = _collect(request, question, _vectors(question, Recalled(question)))
    ranked, kept, _ = _rank(request, question, candidates)
    facts = [item for item in ranked if item.unit.kind == "fact"] if by_name else []
    named = [
        item
        for item in (*kept, *(item for item in facts if item not in kept))
        if item.key not in known
        and set(question.names) & set(text.words(text.fold(item.unit.text)))
    ]
    for item in named[:MOST_FOUND]:
        item.unit.lanes, item.cut = [*item.unit.lanes, "hop"], ""
    return named[:MOST_FOUND]


def _vectors(question: Question, result: Recalled) -> tuple | None:
    """Embed the question without names and as asked; None when only words can be used."""
    embedder = embeddings.active()
    if embedder is None or len(question.text) < 3:
        return None
    try:
        # Two vectors take as long as one: the second is made beside the first.
        same = question.bare == question.text
        beside = None if same else _EMBED_POOL.submit(embed.embed_query, question.text, by=embedder)
        bare = embed.embed_query(question.bare, by=embedder)
        return embedder, bare, beside.result() if beside else bare
    except EmbeddingFailed as error:
        log.warning("recall goes by words alone: %s", error)
        result.error = f"By words alone: {error}"
        return None


def _collect(request: RecallRequest, question: Question, vectors: tuple | None) -> Candidates:
    meaning = {"embedder": vectors[0], "vectors": vectors[1:]} if vectors else {}
    candidates = lanes.collect(
        request.scope,
        question,
        now=request.now,
        kinds=request.kinds,
        seen=request.seen,
        then=request.then,
        **meaning,
    )
    begun = [cue for cue in question.cues if cue.start <= request.now]
    if begun:
        # Seed 002: a question about a time gets the episodes of that time, and no others.
        # What is still to come was spoken of before: then every episode may hold it.
        candidates.units = [
            unit
            for unit in candidates.units
            if unit.kind != "episode" or any(not cue.distance(unit.at, unit.until) for cue in begun)
        ]
    return candidates


def _backfill(
    candidates: Candidates, embedder: Embedder, asked: np.ndarray, whole: np.ndarray
) -> None:
    """Compare, and store, the vectors of a few candidates that have none yet."""
    bare = [unit for unit in candidates.units if unit.bare is None][:MAX_BACKFILL]
    if not bare:
        return
    try:
        # In a turn the job behind the reply stores them, but for those who are paid for each text.
        if not in_turn() or embedder.provider != "embedded":
            with transaction.atomic():
                embeddings.put([unit.id for unit in bare], by=embedder)
        rows = embed.embed([unit.text for unit in bare], by=embedder)
    except (DatabaseError, EmbeddingFailed):
        log.warning("backfilling vectors failed", exc_info=True)
        return
    lane = [unit.bare or 0.0 for unit in candidates.units if "meaning" in unit.lanes]
    furthest = min(lane) if len(lane) >= lanes.DEPTH else -1.0
    for unit, values in zip(bare, rows, strict=True):
        if (vector := embed.good_vector(values, dims=embedder.dims)) is not None:
            unit.bare, unit.asked = float(vector @ asked), float(vector @ whole)
            unit.lanes = [*unit.lanes, *(["meaning"] if unit.bare > furthest else [])]


def _choose(request: RecallRequest, kept: list[Scored], result: Recalled) -> None:
    """Take the best that fit into the limits and the budget, and set the confidence."""
    chosen = _fit(request, _select(request, kept))
    result.items = chosen
    result.tokens = sum(item.tokens for item in chosen)
    result.budget = request.budget or 0
    found = scoring.confidence(request.profile, chosen)
    result.confidence = gate.judged_confidence(
        found, [item.unit.text for item in chosen[:5]], request.judge
    )
    result.level = gate.level(result.confidence, has_items=bool(chosen))


def _select(request: RecallRequest, kept: list[Scored]) -> list[Scored]:
    """Cut what is over the limits, and what repeats the prompt or a better item."""
    counts: Counter[str] = Counter()
    chosen: list[Scored] = []
    in_prompt, chosen_texts = Repetition(request.seen_texts), Repetition()
    unmentioned = rulings.Unmentioned(request.space, request.text)
    for item in kept:
        kind = item.unit.kind
        if unmentioned.covers(kind, item.unit.owner_id, item.unit.text):
            item.cut = "ruled"
        elif counts[kind] >= request.caps.get(kind, request.limit) or len(chosen) >= request.limit:
            item.cut = "limit"
        elif in_prompt.repeats(item.unit.text):
            item.cut = "seen"
        elif chosen_texts.repeats(item.unit.text):
            item.cut = "same"
        else:
            counts[kind] += 1
            chosen_texts.add(item.unit.text)
            chosen.append(item)
    return chosen


def _fit(request: RecallRequest, chosen: list[Scored]) -> list[Scored]:
    """Cut what is over the budget: episodes first, then messages, then facts."""
    room = request.budget if request.budget is not None else float("inf")
    for item in sorted(chosen, key=lambda item: KINDS_BY_WORTH.index(item.unit.kind)):
        item.tokens = request.cost(item.unit)
        if item.tokens > room:
            item.cut = "budget"
        else:
            room -= item.tokens
    return [item for item in chosen if not item.cut]


def _current(kept: list[Scored], ranked: list[Scored]) -> list[Scored]:
    """Bring what holds on the day in the place of what it replaced or what replaced it.

    The words that told how it was come last: they are not the answer, but they may explain it.
    """
    known = {item.unit.owner_id: item for item in ranked if item.unit.kind == "fact"}
    by_chain = {_last_of(item, known): item for item in known.values() if item.unit.holds}
    chosen: dict[int, Scored] = {}
    past: list[Scored] = []
    for item in kept:
        is_fact = item.unit.kind == "fact"
        is_over = not item.unit.holds if is_fact else item.unit.replaced_by is not None
        instead = by_chain.get(_last_of(item, known)) if is_over else item
        if is_over and is_fact:
            item.cut = "gate"
        elif is_over:
            past.append(item)
        if instead is not None:
            instead.cut = ""
            chosen.setdefault(instead.unit.id, instead)
    return [*chosen.values(), *past]


def _last_of(item: Scored, known: dict[int, Scored]) -> int | None:
    """The newest fact of the chain of replacements that this one is in, as far as it is known."""
    place = item.unit.owner_id if item.unit.kind == "fact" else item.unit.replaced_by
    for _step in range(MAX_REPLACED):
        later = known[place].unit.replaced_by if place in known else None
        if later is None:
            break
        place = later
    return place


def _diverse(profile: Profile, kept: list[Scored]) -> list[Scored]:
    """Reorder the best for variety, where the profile asks for it."""
    balance = profile.settings.get("diversity", 1.0)
    if balance >= 1 or len(kept) < 2:
        return kept
    head, tail = kept[: 3 * LIMIT], kept[3 * LIMIT :]
    low, spread = head[-1].score, (head[0].score - head[-1].score) or 1.0
    mixed = mmr(
        head,
        score=lambda item: (item.score - low) / spread,
        words=lambda item: topic_words(item.unit.text),
        balance=balance,
    )
    return mixed + tail


def _write_receipt(result: Recalled, **fields: Any) -> Recall | None:
    # One statement: a transaction of its own only inside of another.
    guard = transaction.atomic if connection.in_atomic_block else nullcontext
    try:
        with guard():
            return receipts.write(result, **fields)
    except Exception:
        # A receipt that cannot be written must not cost the answer.
        log.exception("the receipt of a recall could not be written")
        return None


SURROUNDINGS = """
SELECT m.id, before.author, before.text, after.author, after.text
FROM memory_message m
LEFT JOIN LATERAL (
  SELECT coalesce(nullif(p.author, ''), p.role) AS author, p.text FROM memory_message p
  JOIN memory_unit u ON u.kind = 'message' AND u.owner_id = p.id AND u.live
  WHERE p.chat_id = m.chat_id AND (p.sent_at, p.id) < (m.sent_at, m.id)
    AND p.episode_id IS NOT DISTINCT FROM m.episode_id
  ORDER BY p.sent_at DESC, p.id DESC LIMIT 1) AS before ON true
LEFT JOIN LATERAL (
  SELECT coalesce(nullif(n.author, ''), n.role) AS author, n.text FROM memory_message n
  JOIN memory_unit u ON u.kind = 'message' AND u.owner_id = n.id AND u.live
  WHERE n.chat_id = m.chat_id AND (n.sent_at, n.id) > (m.sent_at, m.id)
    AND n.episode_id IS NOT DISTINCT FROM m.episode_id
  ORDER BY n.sent_at, n.id LIMIT 1) AS after ON true
WHERE m.id = ANY(%s)
"""


def add_surroundings(items: list[Scored]) -> None:
    """Fill `around` of the messages with (author, text) before and after.

    A single message says little without the ones beside it.
    """
    turns = {item.unit.owner_id: item for item in items if item.unit.kind == "message"}
    if not turns:
        return
    with connection.cursor() as cursor:
        cursor.execute(SURROUNDINGS, [list(turns)])
        for pk, who_before, before, who_after, after in cursor.fetchall():
            beside = [(who_before, opened(before)), (who_after, opened(after))]
            turns[pk].around = [(who, words) if words else None for who, words in beside]
