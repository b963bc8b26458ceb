"""Candidates by meaning, words, date, recency and pin: one round trip to Postgres."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from django.db import connection

from memory.models import Chat, Space
from memory.models.unit import anywhere, shared
from memory.retrieval import lanes_sql, past, statistics
from memory.retrieval.past import Past
from memory.retrieval.understand import Question
from memory.vectors.embed import Embedder
from memory.vectors.store import as_text

KINDS = ("fact", "episode", "message")
DEPTH = 100
RECENT = 6
DATED = 100
# The best turns of talk bring those right before and after them.
BEST, BESIDE = 20, 2
# Up to here an exact search is faster than the index, and misses nothing.
EXACT_TO = 3000
LOOK_AT = 1000
COUNT_TO = 2000


@dataclass
class Candidate:
    """A unit with everything that features are computed from."""

    id: int
    kind: str
    owner_id: int
    chat_id: int | None
    episode_id: int | None
    speaker: str
    at: datetime
    until: datetime
    pinned: bool
    lanes: list[str]
    text: str
    quote: str
    subject: str
    said_by: str
    fact_kind: str
    confidence: float
    trust: float
    role: str
    use_count: int
    created_at: datetime
    terms: list[int]
    length: int
    bare: float | None
    asked: float | None


@dataclass(frozen=True)
class Habit:
    """A pattern that shares a word with the question."""

    id: int
    trigger: str
    response: str
    confidence: float


@dataclass
class Candidates:
    """The candidates of all lanes, and the statistics that features need."""

    units: list[Candidate] = field(default_factory=list)
    habits: list[Habit] = field(default_factory=list)
    # How many units in sight hold term number n, and how many units there are.
    counts: dict[int, int] = field(default_factory=dict)
    size: int = 0
    # The units of each episode in their order, and which of them hold which term.
    episodes: dict[int, list[int]] = field(default_factory=dict)
    hits: dict[int, set[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scope:
    """Whose memory may be seen: the space's own, and that of one chat or (its owner) of all."""

    space: int
    here: tuple[int, ...]
    # What the word index is asked for: the same scopes, or the mark of the whole space.
    mark: tuple[int, ...]

    @classmethod
    def of(cls, space: Space, chat: Chat | None = None) -> "Scope":
        if chat is not None and chat.space_id != space.pk:
            raise ValueError("The chat belongs to another space.")
        here = (shared(space.pk), *([chat.pk] if chat else []))
        return cls(space.pk, here, here)

    @classmethod
    def whole(cls, space: Space) -> "Scope":
        """Every chat of the space: for people who look through it, never for a reply."""
        chats = Chat.objects.filter(space=space).order_by("-last_message_at")
        here = (shared(space.pk), *chats.values_list("pk", flat=True))
        return cls(space.pk, here, (anywhere(space.pk),))


def collect(
    scope: Scope,
    question: Question,
    *,
    now: datetime,
    embedder: Embedder | None = None,
    vectors: tuple[np.ndarray, np.ndarray] | None = None,
    kinds: Sequence[str] = KINDS,
    seen: Sequence[int] = (),
    depth: int = DEPTH,
    then: Past | None = None,
) -> Candidates:
    """One round trip. `vectors` are those of the question without names and as asked."""
    # Of another day nothing is known beforehand: everything is counted.
    stats = statistics.Statistics() if then else statistics.current()
    size = stats.size(list(scope.mark))
    counts = [stats.count(word, size=size) for word in question.terms]
    values = {
        "space": scope.space,
        "here": list(scope.here),
        "mark": list(scope.mark),
        "kinds": list(kinds),
        "seen": list(seen),
        "now": now,
        "words": question.terms,
        "known": counts,
        "question_words": question.folded_words,
        "size": size,
        "size_to": statistics.COUNT_UP_TO,
        "starts": [cue.start for cue in question.cues],
        "ends": [cue.end for cue in question.cues],
        "depth": depth,
        "recent": RECENT,
        "dated": DATED,
        "best": BEST,
        "beside": BESIDE,
        "exact_to": EXACT_TO,
        "look_at": LOOK_AT,
        "count_to": COUNT_TO,
    }
    meaning = {}
    if embedder and vectors:
        meaning = {"model": embedder.name, "dims": embedder.dims}
        values |= {"bare": as_text(vectors[0]), "asked": as_text(vectors[1])}
    sql = lanes_sql.statement(**meaning)
    if then:
        sql = past.within(sql, vectors=True)
        values |= then.values | past.vectors(then, here=values["here"], embedder=embedder)
    return _parse_rows(_run(sql, values))


def _run(sql: str, values: dict) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        cursor.nextset()  # past the settings
        return cursor.fetchall()


def _parse_rows(rows: list[tuple]) -> Candidates:
    candidates = Candidates()
    for part, number, ids, count, *values in rows:
        if part == "unit":
            unit = Candidate(number, *values)
            unit.until = unit.until or unit.at
            unit.created_at = unit.created_at or unit.at
            candidates.units.append(unit)
        elif part == "term":
            candidates.counts[number] = count
        elif part == "size":
            candidates.size = count
        elif part == "episode":
            candidates.episodes[number] = ids
        elif part == "hit":
            candidates.hits[number] = set(ids)
        elif part == "pattern":
            row = dict(zip(lanes_sql.COLUMNS, values, strict=True))
            candidates.habits.append(Habit(number, row["text"], row["quote"], row["confidence"]))
    return candidates
