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
from memory.models.encryption import decrypt_lines
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
# Why the judge read nothing: the text asked for nothing.
UNASKED = "unasked"
# As seed 002: a few episodes say enough, facts are short.
MAX_BY_KIND = {"episode": 3}
KINDS_BY_WORTH = ("fact", "message", "episode")
MAX_BACKFILL = 8
# How many facts may have replaced each other.
MAX_REPLACED = 20
# How often to search further, from how many of the best, and how many of the results to take.
MAX_HOPS = 2
MAX_LEADS = 3
MAX_NAMED = 3
# Date, speaker and list mark of a memory in the prompt, in tokens.
TOKENS_PER_ITEM = 8
Judge = Callable[[list[str]], object]
# Functions that find open contradictions: (space, ids of facts) -> pairs of ids of facts. Memory
# does not know proposals, so sleep adds its own function.
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

    A text that `asks` for nothing gets nothing, and a receipt that says so, to be stored with the
    reply. Without `save` nothing is written: no receipt, no vector. `as_of` asks what would have
    come to mind at that time, from memory as it stood; it is the now of the question and writes
    nothing.
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
        if asks:
            result = _recall(request, clock)
        else:
            result.unjudged = UNASKED
            result.profile, result.strict = request.profile, request.strict
    except Exception as error:
        log.exception("recall failed in space %s", space.pk)
        result.error = f"{type(error).__name__}: {error}"[:500]
    result.ms = clock.ms
    if save:
        # A chat of another space was refused; its name does not stand on a receipt of this one.
        here = chat if chat and chat.space_id == space.pk else None
        result.receipt = _write_receipt(
            result, space=space, chat=here, person=person, message=message, now=now,
            unsaved=result.unjudged == UNASKED,
        )  # fmt: skip
    return result


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
        ranked, passed, result.unjudged = _rank(request, question, candidates)
        passed = _with_named_person(request, question, passed, ranked)
        passed = _search_kin(request, passed, result) or _search_further(request, passed, result)
        passed = _with_opposites(request, passed, ranked)
        _choose(request, _current(_diverse(request.profile, passed), ranked), result)
        further = [item for item in passed if item.via]
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


def _with_named_person(
    request: RecallRequest, question: Question, passed: list[Scored], ranked: list[Scored]
) -> list[Scored]:
    """Add one fact about the person whom the question names, if the gate left none.

    "What is my son's name?" names whoever is known to be that.
    """
    if request.strict:
        return passed
    names = set(question.names) - set(text.folded_words(request.person))
    kin = kinsfolk(question.text) if asks_who(question) and not request.then else None
    if kin:
        relatives = _relatives(request, kin)
        names |= {word for person in relatives for word in text.folded_words(person.name)[:1]}
    if any(names & set(text.folded_words(item.unit.text)) for item in passed):
        return passed
    facts = (item for item in ranked if item.unit.kind == "fact" and item.unit.holds)
    best = next((item for item in facts if item.unit.speaker in names), None)
    if best is None:
        return passed
    best.cut = ""
    return [*passed, best]


def _relatives(request: RecallRequest, kin: Kinsfolk) -> list[Entity]:
    start = people.known_as(request.space, request.chat, kin.owner or request.person)
    return people.relatives(start, kin.path, chat=request.chat)[:MAX_HOPS]


def _search_kin(request: RecallRequest, passed: list[Scored], result: Recalled) -> list[Scored]:
    """Search again by the name of the relative ("my sister's husband"), if that is known.

    Return an empty list when nobody is described, or nothing is known of them.
    """
    kin = kinsfolk(result.question.text)
    if kin is None or request.then or asks_who(result.question):
        return []
    for relative in _relatives(request, kin):
        question, sentence = ask_by_name(result.question, kin, relative.name)
        items = _search_named(request, question, ignore=set(), by_name=True)
        for item in items:
            item.via, item.asked = sentence, question.text
        if items:
            result.question = _expanded(result.question, question)
            keys = {item.key for item in items}
            return [*items, *(item for item in passed if item.key not in keys)]
    return []


def _search_further(request: RecallRequest, passed: list[Scored], result: Recalled) -> list[Scored]:
    """Search once or twice more where the best memories name a person that is only described.

    What that finds stands right behind the memory that led to it, in the lane "hop"; the receipt
    keeps what was asked.
    """
    question, leads = result.question, passed[:MAX_LEADS]
    authors = [item.unit.speaker for item in passed if item.unit.kind == "message"]
    talk = {word for name in authors for word in text.folded_words(name)[:1]}
    for _hop in range(MAX_HOPS):
        lead, further = _first_lead(question, leads, person=request.person, talk=talk)
        if lead is None or further is None:
            break
        items = _search_named(request, further, ignore={item.key for item in passed})
        for item in items:
            item.via = lead.unit.text
        place = passed.index(lead) + 1
        passed = [*passed[:place], *items, *passed[place:]]
        result.question = _expanded(result.question, further)
        leads, question = items, further
    return passed


def _first_lead(
    question: Question, leads: list[Scored], *, person: str, talk: set[str]
) -> tuple[Scored | None, Question | None]:
    """Return the first memory that names the person described, and what to ask next."""
    for lead in leads:
        speakers = None if lead.unit.kind == "fact" else talk
        if further := follow(question, lead.unit.text, person=person, talk=speakers):
            return lead, further
    return None, None


def _expanded(question: Question, further: Question) -> Question:
    return replace(question, expansion=[*question.expansion, further.text])


def _with_opposites(
    request: RecallRequest, passed: list[Scored], ranked: list[Scored]
) -> list[Scored]:
    """Bring both sides of an open contradiction together, the newer first, each marked."""
    facts = {item.unit.owner_id: item for item in ranked if item.unit.kind == "fact"}
    uncut = [pk for pk, item in facts.items() if not item.cut]
    pairs = [pair for find_pairs in OPPOSED if uncut for pair in find_pairs(request.space, uncut)]
    for pair in pairs:
        sides = [facts[pk] for pk in pair if pk in facts]
        if len(sides) < 2:
            continue
        sides.sort(key=lambda item: item.unit.said_at)
        place = min(passed.index(item) for item in sides if item in passed)
        rest = [item for item in passed if item not in sides]
        passed = [*rest[:place], *sides[::-1], *rest[place:]]
        for item in sides:
            item.cut, item.unit.opposed = "", True
    return passed


def _search_named(
    request: RecallRequest, question: Question, *, ignore: set, by_name: bool = False
) -> list[Scored]:
    """Find what names the person asked for; `by_name` the best facts also below the gate."""
    candidates = _collect(request, question, _vectors(question, Recalled(question)))
    ranked, passed, _ = _rank(request, question, candidates)
    if by_name:
        facts = (item for item in ranked if item.unit.kind == "fact" and item not in passed)
        passed = [*passed, *facts]
    names = set(question.names)
    named = [
        item
        for item in passed
        if item.key not in ignore and names & set(text.folded_words(item.unit.text))
    ][:MAX_NAMED]
    for item in named:
        item.unit.lanes, item.cut = [*item.unit.lanes, "hop"], ""
    return named


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
    candidates: Candidates, embedder: Embedder, bare_vector: np.ndarray, vector_as_asked: np.ndarray
) -> None:
    """Compare, and store, the vectors of a few candidates that have none yet."""
    units = [unit for unit in candidates.units if unit.bare is None][:MAX_BACKFILL]
    if not units:
        return
    try:
        # In a turn the job behind the reply stores them, but for those who are paid for each text.
        if not in_turn() or embedder.provider != "embedded":
            with transaction.atomic():
                embeddings.put([unit.id for unit in units], by=embedder)
        rows = embed.embed([unit.text for unit in units], by=embedder)
    except (DatabaseError, EmbeddingFailed):
        log.warning("backfilling vectors failed", exc_info=True)
        return
    lane = [unit.bare or 0.0 for unit in candidates.units if "meaning" in unit.lanes]
    furthest = min(lane) if len(lane) >= lanes.DEPTH else -1.0
    for unit, values in zip(units, rows, strict=True):
        if (vector := embed.good_vector(values, dims=embedder.dims)) is not None:
            unit.bare, unit.asked = float(vector @ bare_vector), float(vector @ vector_as_asked)
            unit.lanes = [*unit.lanes, *(["meaning"] if unit.bare > furthest else [])]


def _choose(request: RecallRequest, passed: list[Scored], result: Recalled) -> None:
    """Take the best that fit into the limits and the budget, and set the confidence."""
    result.items = _fit(request, _select(request, passed))
    result.tokens = sum(item.tokens for item in result.items)
    result.budget = request.budget or 0
    confidence = scoring.confidence(request.profile, result.items)
    texts = [item.unit.text for item in result.items[:5]]
    result.confidence = gate.judged_confidence(confidence, texts, request.judge)
    result.level = gate.level(result.confidence, has_items=bool(result.items))


def _select(request: RecallRequest, passed: list[Scored]) -> list[Scored]:
    """Cut what is over the limits, and what repeats the prompt or a better item."""
    counts: Counter[str] = Counter()
    chosen: list[Scored] = []
    in_prompt, chosen_texts = Repetition(request.seen_texts), Repetition()
    unmentioned = rulings.Unmentioned(request.space, request.text)
    for item in passed:
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


def _current(passed: list[Scored], ranked: list[Scored]) -> list[Scored]:
    """Bring what holds on the day in the place of what it replaced or what replaced it.

    The words that told how it was come last: they are not the answer, but they may explain it.
    """
    facts = {item.unit.owner_id: item for item in ranked if item.unit.kind == "fact"}
    by_chain = {_last_of(item, facts): item for item in facts.values() if item.unit.holds}
    chosen: dict[int, Scored] = {}
    told_before: list[Scored] = []
    for item in passed:
        is_fact = item.unit.kind == "fact"
        is_over = not item.unit.holds if is_fact else item.unit.replaced_by is not None
        instead = by_chain.get(_last_of(item, facts)) if is_over else item
        if is_over and is_fact:
            item.cut = "gate"
        elif is_over:
            told_before.append(item)
        if instead is not None:
            instead.cut = ""
            chosen.setdefault(instead.unit.id, instead)
    return [*chosen.values(), *told_before]


def _last_of(item: Scored, facts: dict[int, Scored]) -> int | None:
    """Return the newest fact of the chain of replacements, as far as it is among these."""
    pk = item.unit.owner_id if item.unit.kind == "fact" else item.unit.replaced_by
    for _step in range(MAX_REPLACED):
        later = facts[pk].unit.replaced_by if pk in facts else None
        if later is None:
            break
        pk = later
    return pk


def _diverse(profile: Profile, passed: list[Scored]) -> list[Scored]:
    """Reorder the best for variety, where the profile asks for it."""
    balance = profile.settings.get("diversity", 1.0)
    if balance >= 1 or len(passed) < 2:
        return passed
    head, tail = passed[: 3 * LIMIT], passed[3 * LIMIT :]
    low, spread = head[-1].score, (head[0].score - head[-1].score) or 1.0
    mixed = mmr(
        head,
        score=lambda item: (item.score - low) / spread,
        words=lambda item: topic_words(item.unit.text),
        balance=balance,
    )
    return mixed + tail


def _write_receipt(result: Recalled, *, unsaved: bool, **fields: Any) -> Recall | None:
    # One statement: a transaction of its own only inside of another.
    is_inside = connection.in_atomic_block and not unsaved
    try:
        with transaction.atomic() if is_inside else nullcontext():
            return receipts.write(result, unsaved=unsaved, **fields)
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
            beside = [(who_before, decrypt_lines(before)), (who_after, decrypt_lines(after))]
            turns[pk].around = [(who, words) if words else None for who, words in beside]
