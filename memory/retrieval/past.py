"""Memory as it stood on another day, for the same statements that search it today.

Each part takes the name of a table: what follows it in the statement reads the rows of that time
instead, and needs no other words. Slower than today's memory, which has its indexes.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection

from memory.models.encryption import decrypt_lines
from memory.vectors import embed
from memory.vectors.embed import Embedder, EmbeddingFailed
from memory.vectors.store import as_text

# Texts that were changed since have no vector any more: so many get one for the question.
MAX_TO_EMBED = 200

# The last event of a row up to then. The row must still be there, and in the same space.
_LAST = """
  SELECT DISTINCT ON (event.pgh_obj_id) event.* FROM memory_{kind}event event
  JOIN memory_{kind} row ON row.id = event.pgh_obj_id AND row.space_id = %(space)s
  WHERE event.space_id = %(space)s AND event.pgh_created_at <= %(then)s
  ORDER BY event.pgh_obj_id, event.pgh_id DESC"""

# How often a fact was used by then is not kept.
OWNERS = f"""
past_fact AS MATERIALIZED ({_LAST.format(kind="fact")}),
past_episode AS MATERIALIZED ({_LAST.format(kind="episode")}),
past_pattern AS MATERIALIZED ({_LAST.format(kind="pattern")}),
past_message AS MATERIALIZED (
  SELECT m.* FROM memory_message m
  LEFT JOIN past_episode e ON e.pgh_obj_id = m.episode_id
  WHERE m.space_id = %(space)s AND m.sent_at <= %(then)s AND m.role <> 'system'
    AND coalesce(m.not_recalled, '') = ''
    AND NOT keno_suspicious(m.flags) AND coalesce(e.status, '') <> 'discarded'
)"""

# The same columns that the triggers write; words are made again only where they are others now.
UNITS = """
past_unit AS MATERIALIZED (
  SELECT u.id, u.kind, u.owner_id, f.space_id, f.chat_id, f.episode_id, f.subject AS speaker,
    coalesce(f.occurs_at, f.valid_from, f.created_at) AS at,
    coalesce(f.occurs_at, f.created_at) AS until, f.pinned, f.text,
    CASE WHEN u.words IS NOT NULL AND (f.text, f.quote, f.subject, f.language)
      = (now.text, now.quote, now.subject, now.language) THEN u.words
    ELSE keno_words(f.text || ' ' || f.quote || ' ' || f.subject, f.language) END AS words
  FROM past_fact f JOIN memory_fact now ON now.id = f.pgh_obj_id
  JOIN memory_unit u ON u.kind = 'fact' AND u.owner_id = f.pgh_obj_id
  WHERE f.status = 'active' OR %(valid_at)s::timestamptz IS NOT NULL
    AND (f.status = 'superseded' OR f.flags @> '["deprecated"]') AND NOT f.flags @> '["ruled out"]'
  UNION ALL
  SELECT u.id, u.kind, u.owner_id, e.space_id, e.chat_id, e.pgh_obj_id, '', e.started_at,
    coalesce(e.ended_at, e.started_at), false, btrim(e.title || E'\\n' || e.body),
    keno_words(btrim(e.title || E'\\n' || e.body) || ' ' || array_to_string(e.tags, ' '),
      e.language)
  FROM past_episode e JOIN memory_unit u ON u.kind = 'episode' AND u.owner_id = e.pgh_obj_id
  WHERE e.status IN ('open', 'closed') AND e.title || e.body <> ''
    AND NOT keno_suspicious(e.flags)
  UNION ALL
  SELECT u.id, u.kind, u.owner_id, m.space_id, m.chat_id, m.episode_id, m.author, m.sent_at,
    m.sent_at, false, m.text, coalesce(u.words, keno_words(m.text, m.language))
  FROM past_message m JOIN memory_unit u ON u.kind = 'message' AND u.owner_id = m.id
)"""

TABLES = """
memory_unit AS MATERIALIZED (
  SELECT id, kind, owner_id, space_id, chat_id, episode_id, at, greatest(at, until) AS until,
    pinned, true AS live, words, md5(text) AS text_hash,
    left(btrim(keno_fold(speaker)), 120) AS speaker,
    coalesce(chat_id, -2 * space_id) AS scope,
    ARRAY[coalesce(chat_id, -2 * space_id), -2 * space_id - 1] AS scopes
  FROM past_unit
),
memory_fact AS (SELECT pgh_obj_id AS id, text, quote, subject, said_by, kind, confidence, trust,
  0 AS use_count, created_at, valid_from, valid_to, last_seen_at, confirmed_at, '' AS lasts,
  NULL::timestamptz AS upheld_at, message_id, status, superseded_by_id
  FROM past_fact),
memory_episode AS (SELECT pgh_obj_id AS id, title, body, trust FROM past_episode),
memory_message AS (SELECT id, text, author, role, sent_at FROM past_message),
memory_pattern AS (SELECT pgh_obj_id AS id, space_id, chat_id, status, trigger, response,
  confidence FROM past_pattern)"""

# The vector of a text that changed since does not count; the old text gets one for this question.
VECTORS = """
memory_embedding AS MATERIALIZED (
  SELECT v.unit_id, v.model, v.vector, u.kind, u.space_id, u.scope, true AS live
  FROM memory_embedding v
  JOIN memory_unit u ON u.id = v.unit_id AND u.text_hash = v.text_hash
  UNION ALL
  SELECT u.id, given.model, given.vector::vector, u.kind, u.space_id, u.scope, true
  FROM unnest(%(past_ids)s::bigint[], %(past_models)s::text[], %(past_vectors)s::text[])
    AS given (id, model, vector) JOIN memory_unit u ON u.id = given.id
)"""

MEMORY = ",".join((OWNERS, UNITS, TABLES))
WITHOUT_VECTOR = f"""
WITH {MEMORY}
SELECT u.id, p.text FROM memory_unit u JOIN past_unit p ON p.id = u.id
WHERE u.scope = ANY(%(here)s::bigint[]) AND NOT EXISTS (
  SELECT FROM memory_embedding v
  WHERE v.unit_id = u.id AND v.model = %(model)s AND v.text_hash = u.text_hash)
ORDER BY u.at DESC LIMIT %(most)s
"""


@dataclass(frozen=True)
class Past:
    """One space at one time: what was believed `then`, of what holds at `valid_at`.

    Without `valid_at` it is what held then; with it also what was replaced or over by then.
    """

    space: int
    then: datetime
    valid_at: datetime | None = None

    @property
    def values(self) -> dict[str, Any]:
        return {"space": self.space, "then": self.then, "valid_at": self.valid_at}


def within(statement: str, *, vectors: bool = False) -> str:
    """Return a statement that begins with WITH, changed to read the memory of that time."""
    head, separator, rest = statement.partition("WITH")
    if not separator:
        raise ValueError("The statement has no WITH to put the past into.")
    return f"{head}WITH {MEMORY},{f'{VECTORS},' if vectors else ''}{rest}"


def vectors(past: Past, *, here: list[int], embedder: Embedder | None) -> dict[str, list]:
    """Embed texts that changed since, for this question only; nothing is stored."""
    missing = _without_vector(past, here, embedder) if embedder else {}
    return {
        "past_ids": list(missing),
        "past_models": [embedder.name for _ in missing] if embedder else [],
        "past_vectors": list(missing.values()),
    }


def _without_vector(past: Past, here: list[int], embedder: Embedder) -> dict[int, str]:
    values = past.values | {"here": here, "model": embedder.name, "most": MAX_TO_EMBED}
    with connection.cursor() as cursor:
        cursor.execute(WITHOUT_VECTOR, values)
        rows = [(unit, decrypt_lines(text)) for unit, text in cursor.fetchall()]
    try:
        pairs = ((unit, _vector(embedder, text)) for unit, text in rows)
        return {unit: vector for unit, vector in pairs if vector}
    except EmbeddingFailed:
        return {}


@lru_cache(maxsize=2048)
def _vector(embedder: Embedder, text: str) -> str:
    vector = embed.good_vector(embed.embed([text], by=embedder)[0], dims=embedder.dims)
    return "" if vector is None else as_text(vector)
