"""Candidates by meaning, words, date, recency and pin: one round trip to Postgres."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import psycopg
from django.db import connection

from memory.models import Chat, Space
from memory.models.encryption import PREFIX, Unreadable, decrypt_lines
from memory.models.unit import anywhere, shared
from memory.retrieval import keywords, past
from memory.retrieval.past import Past
from memory.retrieval.understand import Question
from memory.spaces.chat_links import hears_the_space
from memory.text import normalise as text
from memory.text.summaries import last_question
from memory.vectors.embed import Embedder
from memory.vectors.store import as_text

# A JIT of this statement takes longer than the statement; an index scan that runs dry under the
# filters goes on instead of returning too little.
PREPARE = """
SELECT set_config('jit', 'off', true),
       set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.ef_search', '120', true),
       set_config('hnsw.max_scan_tuples', '20000', true)
"""
# The rarest words first, until enough rows were looked at; the rarest one always.
WORDS = """
sized AS MATERIALIZED (
  SELECT coalesce(%(size)s::bigint, (
    SELECT count(*) FROM (
      SELECT FROM memory_unit u WHERE u.scope = ANY(%(here)s::bigint[]) AND u.live
      LIMIT %(size_to)s) AS few)) AS n
),
term AS MATERIALIZED (
  SELECT given.no::int AS no, given.known, keno_query(given.word) AS q
  FROM unnest(%(words)s::text[], %(known)s::int[]) WITH ORDINALITY AS given (word, known, no)
),
counted AS MATERIALIZED (
  SELECT no, q, coalesce(known, (
    SELECT count(*) FROM (
      SELECT FROM memory_unit u WHERE u.scopes && %(mark)s::bigint[] AND u.words @@ term.q
      LIMIT %(count_to)s) AS few)) AS df
  FROM term WHERE numnode(q) > 0
),
picked AS (
  SELECT no, q, df, ln(1 + (greatest((SELECT n FROM sized), df) - df + 0.5) / (df + 0.5)) AS idf,
    sum(df) OVER rarest AS looked_at, row_number() OVER rarest AS place
  FROM counted WHERE df > 0 WINDOW rarest AS (ORDER BY df, no)
),
hit AS MATERIALIZED (
  SELECT p.no, p.idf, u.id, u.kind, u.episode_id, u.owner_id
  FROM picked p CROSS JOIN LATERAL (
    SELECT u.id, u.kind, u.episode_id, u.owner_id FROM memory_unit u
    WHERE u.scopes && %(mark)s::bigint[] AND u.words @@ p.q LIMIT %(look_at)s) AS u
  WHERE p.looked_at <= %(look_at)s OR p.place = 1
),
by_words AS (
  SELECT id, sum(idf) AS weight FROM hit WHERE kind = ANY(%(kinds)s)
    AND NOT (kind = 'message' AND owner_id = ANY(%(seen)s))
  GROUP BY id ORDER BY weight DESC, id DESC LIMIT %(depth)s
)"""
# A small scope is searched exactly, through its own index; a large one by HNSW. The question's
# vectors stand in the text once: each copy of them would be read and planned again.
MEANING = """
given AS MATERIALIZED (
  SELECT %(bare)s::vector({dims}) AS bare, %(asked)s::vector({dims}) AS asked
),
vectors AS MATERIALIZED (
  SELECT count(*) AS n FROM (
    SELECT FROM memory_embedding WHERE space_id = %(space)s AND scope = ANY(%(here)s::bigint[])
      AND model = {model} AND live LIMIT %(exact_to)s + 1) AS few
),
exact AS MATERIALIZED (
  SELECT unit_id, vector::vector({dims}) <=> (SELECT bare FROM given) AS distance
  FROM memory_embedding
  WHERE (SELECT n FROM vectors) <= %(exact_to)s AND space_id = %(space)s
    AND scope = ANY(%(here)s::bigint[]) AND model = {model} AND live AND kind = ANY(%(kinds)s)
),
by_index AS MATERIALIZED (
  SELECT unit_id, vector::vector({dims}) <=> (SELECT bare FROM given) AS distance
  FROM memory_embedding
  WHERE (SELECT n FROM vectors) > %(exact_to)s AND space_id = %(space)s
    AND scope = ANY(%(here)s::bigint[]) AND model = {model} AND live AND kind = ANY(%(kinds)s)
  ORDER BY vector::vector({dims}) <=> (SELECT bare FROM given) LIMIT %(depth)s
),
by_meaning AS (
  (SELECT unit_id AS id, distance FROM exact ORDER BY distance LIMIT %(depth)s)
  UNION ALL SELECT unit_id, distance FROM by_index
)"""
NO_MEANING = "by_meaning AS (SELECT NULL::bigint AS id, NULL::float8 AS distance WHERE false)"
BY_RECORD = """
place AS (
  SELECT scope, kind FROM unnest(%(here)s::bigint[]) WITH ORDINALITY AS s (scope, no),
    unnest(%(kinds)s::text[]) AS kind
  WHERE no <= 60
),
by_recency AS (
  SELECT u.id FROM place CROSS JOIN LATERAL (
    SELECT u.id FROM memory_unit u WHERE u.scope = place.scope AND u.kind = place.kind AND u.live
    ORDER BY u.at DESC LIMIT %(recent)s) AS u
),
by_pin AS (
  SELECT id FROM memory_unit
  WHERE scope = ANY(%(here)s::bigint[]) AND live AND pinned AND kind = ANY(%(kinds)s) LIMIT 40
),
by_date AS (
  SELECT u.id FROM unnest(%(starts)s::timestamptz[], %(ends)s::timestamptz[]) AS span (first, last)
  CROSS JOIN place CROSS JOIN LATERAL (
    SELECT u.id FROM memory_unit u
    WHERE u.scope = place.scope AND u.kind = place.kind AND u.live
      AND u.at < span.last AND u.at >= span.first - interval '2 days' AND u.until >= span.first
    ORDER BY u.at DESC LIMIT %(dated)s) AS u
)"""
# What was said right before and after the best of them often answers what they ask.
BESIDE_SQL = """
best AS MATERIALIZED (
  SELECT u.id, u.scope, u.episode_id, u.at FROM (
    (SELECT id FROM by_words ORDER BY weight DESC, id DESC LIMIT %(best)s) UNION
    (SELECT id FROM by_meaning ORDER BY distance LIMIT %(best)s)) AS b
  JOIN memory_unit u ON u.id = b.id AND u.kind = 'message' AND u.episode_id IS NOT NULL
),
by_talk AS (
  SELECT DISTINCT m.id FROM best b CROSS JOIN LATERAL (
    (SELECT m.id, m.scope FROM memory_unit m
     WHERE m.episode_id = b.episode_id AND m.live AND m.kind = 'message'
       AND (m.at, m.id) < (b.at, b.id) ORDER BY m.at DESC, m.id DESC LIMIT %(beside)s)
    UNION ALL
    (SELECT m.id, m.scope FROM memory_unit m
     WHERE m.episode_id = b.episode_id AND m.live AND m.kind = 'message'
       AND (m.at, m.id) > (b.at, b.id) ORDER BY m.at, m.id LIMIT %(beside)s)) AS m
  WHERE m.scope = b.scope
)"""
CANDIDATES = """
candidate AS MATERIALIZED (
  SELECT id, array_agg(lane) AS lanes FROM (
    SELECT id, 'words' AS lane FROM by_words UNION ALL
    SELECT id, 'meaning' FROM by_meaning UNION ALL
    SELECT id, 'recent' FROM by_recency UNION ALL
    SELECT id, 'pinned' FROM by_pin UNION ALL
    SELECT id, 'talk' FROM by_talk UNION ALL
    SELECT DISTINCT id, 'date' FROM by_date) AS lane
  GROUP BY id
),
unit AS MATERIALIZED (
  SELECT c.lanes, u.id, u.kind, u.owner_id, u.chat_id, u.episode_id, u.speaker, u.at, u.until,
    u.pinned, u.words
  FROM candidate c JOIN memory_unit u ON u.id = c.id
  WHERE u.live AND NOT (u.kind = 'message' AND u.owner_id = ANY(%(seen)s))
),
mates AS MATERIALIZED (
  SELECT e.episode_id, array_agg(m.id ORDER BY m.at, m.id) AS ids
  FROM (SELECT DISTINCT episode_id FROM unit WHERE kind = 'message' AND episode_id IS NOT NULL) AS e
  CROSS JOIN LATERAL (
    SELECT id, at FROM memory_unit m
    WHERE m.episode_id = e.episode_id AND m.live AND m.kind = 'message'
    ORDER BY m.at, m.id LIMIT 1000) AS m
  GROUP BY e.episode_id
)"""
HOLDS = (
    "(coalesce(f.valid_from <= %(holds_at)s, true) AND coalesce(f.valid_to > %(holds_at)s, true))"
)
# name -> where it comes from; the rows of other parts leave all but a few of them empty. A time
# that is the same as `at` is left out: reading hundreds of them takes milliseconds.
COLUMNS = {
    "kind": "u.kind",
    "owner_id": "u.owner_id",
    "chat_id": "u.chat_id",
    "episode_id": "u.episode_id",
    "speaker": "u.speaker",
    "at": "u.at",
    "until": "nullif(u.until, u.at)",
    "pinned": "u.pinned",
    "lanes": "u.lanes",
    "text": "coalesce(f.text, m.text, btrim(e.title || E'\\n' || e.body, E' \\n'))",
    # A quote that also tells what is over would answer with it.
    "quote": "CASE WHEN gone.by_id IS NULL THEN f.quote END",
    "subject": "coalesce(f.subject, '')",
    "said_by": "coalesce(nullif(f.said_by, ''), m.author, '')",
    "fact_kind": "f.kind",
    "confidence": "coalesce(f.confidence, 0.5)",
    "trust": "coalesce(f.trust, e.trust, 0.5)",
    "role": "m.role",
    "use_count": "coalesce(f.use_count, 0)",
    # When it was said, which a plan's own day is not.
    "said_at": "nullif(coalesce(said.sent_at, f.created_at), u.at)",
    "terms": "ARRAY(SELECT no FROM term WHERE u.words @@ term.q ORDER BY no)",
    "bare": "1 - (v.vector::vector({dims}) <=> (SELECT bare FROM given))",
    "asked": "1 - (v.vector::vector({dims}) <=> (SELECT asked FROM given))",
    "lasts": "f.lasts",
    "checked": "CASE WHEN f.lasts <> '' THEN"
    " greatest(f.last_seen_at, f.confirmed_at, f.upheld_at) END",
    "replaced_by": "CASE WHEN u.kind = 'fact' THEN f.superseded_by_id ELSE gone.by_id END",
    "holds": f"f.id IS NULL OR {HOLDS}",
}
WITHOUT_MEANING = {"bare": "NULL::float8", "asked": "NULL::float8"}
VECTORS = "LEFT JOIN memory_embedding v ON v.unit_id = u.id AND v.model = {model} AND v.live"
SELECT = """
SELECT 'unit' AS part, u.id, NULL::bigint[] AS ids, NULL::bigint AS number, {columns}
FROM unit u
LEFT JOIN memory_fact f ON u.kind = 'fact' AND f.id = u.owner_id
LEFT JOIN memory_message said ON said.id = f.message_id
LEFT JOIN memory_message m ON u.kind = 'message' AND m.id = u.owner_id
LEFT JOIN memory_episode e ON u.kind = 'episode' AND e.id = u.owner_id
LEFT JOIN LATERAL (
  WITH RECURSIVE chain (id, n) AS (
    SELECT o.superseded_by_id, 1 FROM memory_fact o
    WHERE o.message_id = CASE u.kind WHEN 'message' THEN u.owner_id ELSE f.message_id END
      AND o.superseded_by_id IS NOT NULL
    UNION ALL
    SELECT o.superseded_by_id, n + 1 FROM chain JOIN memory_fact o ON o.id = chain.id
    WHERE o.superseded_by_id IS NOT NULL AND n < 20)
  SELECT id AS by_id FROM chain ORDER BY n DESC LIMIT 1) AS gone ON true
{vectors}
WHERE f.id IS NULL OR %(any_day)s OR {holds}
UNION ALL
SELECT 'size', NULL, NULL, n, {nothing} FROM sized
UNION ALL
SELECT 'term', no, NULL, df, {nothing} FROM counted
UNION ALL
SELECT 'episode', episode_id, ids, NULL, {nothing} FROM mates
UNION ALL
SELECT 'hit', hit.no, array_agg(hit.id), NULL, {nothing} FROM hit
  JOIN mates ON mates.episode_id = hit.episode_id WHERE hit.kind = 'message' GROUP BY hit.no
UNION ALL
SELECT 'pattern', id, NULL, NULL, {pattern} FROM memory_pattern
  WHERE space_id = %(space)s AND status = 'active' AND coalesce(chat_id, %(shared)s) = ANY(%(here)s)
    AND (string_to_array(btrim(keno_fold(trigger)), ' ') && %(question_words)s::text[]
      OR starts_with(trigger, 'keno-enc:'))
"""
OF_PATTERN = {"text": "trigger", "quote": "response", "confidence": "confidence"}
KINDS = ("fact", "episode", "message")
DEPTH = 100
# How far each lane looks.
LIMITS = {
    "recent": 6,
    "dated": 100,
    # The best turns of talk bring those right before and after them.
    "best": 20,
    "beside": 2,
    # Up to here an exact search is faster than the index, and misses nothing.
    "exact_to": 3000,
    "look_at": 1000,
    "count_to": 2000,
}


@lru_cache(maxsize=8)
def statement(*, model: str = "", dims: int = 0) -> str:
    """Return the whole statement; without a model the lane of meaning stays empty."""
    columns = COLUMNS if model else COLUMNS | WITHOUT_MEANING
    select = SELECT.format(
        columns=", ".join(f"{sql} AS {name}" for name, sql in columns.items()),
        vectors=VECTORS if model else "",
        holds=HOLDS,
        nothing=", ".join("NULL" for _ in columns),
        pattern=", ".join(OF_PATTERN.get(name, "NULL") for name in columns),
    )
    meaning = MEANING if model else NO_MEANING
    whole = f"WITH{','.join((WORDS, meaning, BY_RECORD, BESIDE_SQL, CANDIDATES))}{select}"
    # In the text, not a parameter: only so the planner sees that the partial index fits.
    literal = "'" + model.replace("'", "''").replace("%", "%%") + "'"
    return whole.replace("{dims}", str(int(dims))).replace("{model}", literal)


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
    said_at: datetime
    terms: list[int]
    bare: float | None
    asked: float | None
    # How long such a fact usually holds, and when it was last checked.
    lasts: str | None = ""
    checked: datetime | None = None
    # The fact that took the place of this one, or of what this message told.
    replaced_by: int | None = None
    # Whether it is so on the day that is asked about.
    holds: bool = True
    # The month of that, when it is too long ago; set by the prompt builder.
    stale: str = ""
    # Whether somebody has still to decide between it and another fact.
    opposed: bool = False
    # What somebody else asked right before it was said; set when the judge reads it.
    replies_to: str = ""


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

    @cached_property
    def places(self) -> dict[int, tuple[int, int]]:
        """Return the episode of each unit that has one, and its position there."""
        return {
            unit: (episode, position)
            for episode, units in self.episodes.items()
            for position, unit in enumerate(units)
        }

    def question_before(self, unit: Candidate) -> str:
        """Return what somebody else asked right before it, if that is a candidate, too."""
        episode, position = self.places.get(unit.id, (0, 0))
        before = self._by_id.get(self.episodes[episode][position - 1]) if position else None
        if before is None or not unit.speaker or before.speaker == unit.speaker:
            return ""
        return last_question(before.text)

    @cached_property
    def _by_id(self) -> dict[int, Candidate]:
        return {unit.id: unit for unit in self.units}


@dataclass(frozen=True)
class Scope:
    """Whose memory may be seen: the space's own, and that of one chat or (its owner) of all."""

    space: int
    here: tuple[int, ...]
    # What the word index is asked for: the same scopes, or the mark of the whole space.
    mark: tuple[int, ...]

    @classmethod
    def of(cls, space: Space, chat: Chat | None = None) -> "Scope":
        """Return the chat's own, and the space's where the people of the chat may hear that."""
        if chat is not None and chat.space_id != space.pk:
            raise ValueError("The chat belongs to another space.")
        common = [shared(space.pk)] if chat is None or hears_the_space(chat) else []
        here = (*common, *([chat.pk] if chat else []))
        return cls(space.pk, here, here)

    @classmethod
    def whole(cls, space: Space) -> "Scope":
        """Return every chat of the space: for people who look through it, never for a reply."""
        # Private chats of others, which the person who looks may not see.
        hidden = getattr(space, "hidden_chats", ())
        chats = Chat.objects.filter(space=space).exclude(pk__in=hidden).order_by("-last_message_at")
        here = (shared(space.pk), *chats.values_list("pk", flat=True))
        return cls(space.pk, here, here if hidden else (anywhere(space.pk),))


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
    """Fetch the candidates in one round trip.

    `vectors` are those of the question without names and as asked.
    """
    # Of another day nothing is known beforehand: everything is counted.
    stats = keywords.Statistics() if then else keywords.current()
    size = stats.size(list(scope.mark))
    values: dict[str, Any] = {
        "space": scope.space,
        "shared": shared(scope.space),
        "here": list(scope.here),
        "mark": list(scope.mark),
        "kinds": list(kinds),
        "seen": list(seen),
        "holds_at": (then and then.valid_at) or now,
        "any_day": bool(then and then.valid_at),
        "words": question.terms,
        "known": [stats.count(word, size=size) for word in question.terms],
        "question_words": question.folded_words,
        "size": size,
        "size_to": keywords.COUNT_UP_TO,
        "starts": [cue.start for cue in question.cues],
        "ends": [cue.end for cue in question.cues],
        "depth": depth,
        **LIMITS,
    }
    meaning = {}
    if embedder and vectors:
        meaning = {"model": embedder.name, "dims": embedder.dims}
        values |= {"bare": as_text(vectors[0]), "asked": as_text(vectors[1])}
    sql = statement(**meaning)
    if then is None:
        return _parse_rows(_run(sql, values), question)
    sql = past.within(sql, vectors=True)
    values |= then.values | past.vectors(then, here=list(scope.here), embedder=embedder)
    with connection.cursor() as cursor:
        cursor.execute(f"{PREPARE};{sql}", values)
        cursor.nextset()  # past the settings
        return _parse_rows(cursor.fetchall(), question)


def _run(sql: str, values: dict) -> list[tuple]:
    """Run a prepared statement: reading and planning this one takes longer than the search.

    Both go in one round trip, and the settings end with it.
    """
    connection.ensure_connection()
    plain = connection.connection
    # Django itself never prepares; behind a pooler that would be in the way here, too.
    prepared = not connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    plain.prepare_threshold = 0 if prepared else None
    with connection.wrap_database_errors, plain.pipeline():
        psycopg.Cursor(plain).execute(PREPARE)
        return psycopg.Cursor(plain).execute(sql, values, prepare=prepared).fetchall()


def _parse_rows(rows: list[tuple], question: Question) -> Candidates:
    candidates = Candidates()
    encrypted: list[Candidate] = []
    for part, number, ids, count, *values in rows:
        if part == "unit":
            unit = Candidate(number, *values)
            unit.until = unit.until or unit.at
            unit.said_at = unit.said_at or unit.at
            if PREFIX in unit.text:
                unit.text, unit.quote = decrypt_lines(unit.text), decrypt_lines(unit.quote)
                if isinstance(unit.text, Unreadable):
                    continue
                encrypted.append(unit)
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
            row = dict(zip(COLUMNS, values, strict=True))
            trigger, response = decrypt_lines(row["text"]), decrypt_lines(row["quote"])
            words = text.words(text.fold(trigger))
            if trigger is row["text"] or set(words) & set(question.folded_words):
                habit = Habit(number, trigger, response, row["confidence"])
                candidates.habits.append(habit)
    if encrypted:
        _count_terms(question.terms, encrypted, candidates)
    return candidates


def _count_terms(terms: list[str], units: list[Candidate], candidates: Candidates) -> None:
    """Find the words of the question in opened texts, which the word index does not hold.

    Only candidates of other lanes are looked at, so a word counts as often as they have it.
    """
    forms = [keywords.index_forms(term) for term in terms]
    talk = {unit for units in candidates.episodes.values() for unit in units}
    for unit in units:
        words = keywords.content_words(f"{unit.text} {unit.quote or ''} {unit.subject}")
        stored = set().union(*map(keywords.index_forms, words))
        unit.terms = [number for number, form in enumerate(forms, start=1) if form & stored]
        for number in unit.terms:
            if number in candidates.counts:
                candidates.counts[number] += 1
            if unit.id in talk:
                candidates.hits.setdefault(number, set()).add(unit.id)
