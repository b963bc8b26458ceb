"""Find rows by the words a person types, each perhaps unfinished, or by what they mean."""

import logging
import re
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db import connection, transaction
from django.db.models import BooleanField, F, Q, QuerySet, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Lower, StrIndex
from django.db.models.lookups import GreaterThan

from memory.models import Space, Unit, encryption
from memory.models.content import content_names
from memory.models.unit import anywhere
from memory.text.normalise import STOP_WORDS, fold, words
from memory.vectors import embed
from memory.vectors import store as embeddings

MAX_TERMS = 12
# One term in each form it may have in the index, or the beginning of a longer word.
TERM_SQL = "(keno_query(%s) || to_tsquery('pg_catalog.simple', %s))"
# Scripts without spaces: the index holds whole runs of them, not words.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u2e80-\u9fff\uf900-\ufaff]")
STOPS = {fold(word) for stop_words in STOP_WORDS.values() for word in stop_words}
# keno_words without a language, written out as the indexes on rows without a unit have it: an index
# may not call a function that is not built in.
FOLDED = (
    "regexp_replace(lower(regexp_replace(normalize(left({columns}, 20000), NFD), "
    r"'[\u0300-\u036f]+', '', 'g')), "
    r"'[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+', "
    "' ', 'g')"
)
log = logging.getLogger(__name__)
# Below this similarity two texts only share a topic.
MIN_SIMILARITY_OF_ROWS = 0.5
# A question is shorter than its answer, and so less similar.
MIN_SIMILARITY_OF_QUERY = 0.4
# An index scan that runs dry under the filters goes on, but not for ever.
PREPARE = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.max_scan_tuples', '20000', true), quote_literal(%s)
"""
NEAREST = """
SELECT u.owner_id, 1 - (e.vector::vector({dims}) <=> %(mine)s::vector({dims})) AS alike
FROM memory_embedding e JOIN memory_unit u ON u.id = e.unit_id
WHERE e.model = {model} AND e.space_id = %(space)s AND e.kind = %(kind)s AND e.live
ORDER BY e.vector::vector({dims}) <=> %(mine)s::vector({dims}) LIMIT %(most)s
"""
MINE = """
SELECT e.vector::text FROM memory_unit u
JOIN memory_embedding e ON e.unit_id = u.id AND e.model = %s
WHERE u.kind = %s AND u.owner_id = %s
"""


@dataclass(frozen=True)
class UnindexedText:
    """Rows whose text is in no unit: which rows, SQL of their words, and the fields of the text."""

    where: Q
    words: str
    fields: tuple[str, ...]


def search_terms(query: str) -> list[str]:
    """Return the words to look up in the index; none when the index cannot hold them."""
    if UNSPACED.search(query):
        return []
    terms = dict.fromkeys(word.replace("'", "") for word in words(fold(query)))
    return [term for term in terms if term and term not in STOPS][:MAX_TERMS]


def matches(column: str, terms: list[str]) -> RawSQL:
    """Match a tsvector that has all terms. `column` is our own SQL, never a person's text."""
    sql = " && ".join([TERM_SQL] * len(terms))
    params = [part for term in terms for part in (term, f"'{term}':*")]
    return RawSQL(f"{column} @@ ({sql})", params, output_field=BooleanField())


def words_of(columns: str) -> str:
    """Return SQL for the words of these columns: our own SQL, never a person's text."""
    folded = FOLDED.format(columns=columns)
    parts = (f"to_tsvector('pg_catalog.{name}', {folded})" for name in ("english", "spanish"))
    return f"({' || '.join(parts)})"


def filter_by_text(
    rows: QuerySet,
    query: str,
    *,
    space: Space,
    kind: str,
    unindexed: UnindexedText,
    live: bool | None = None,
) -> QuerySet:
    """Keep the rows that have all words of the query.

    `live` says that only live rows (True) or none of them (False) can be among the rows, so that
    one of the two indexes need not be read.
    """
    terms = search_terms(query)
    if not terms or encryption.has_keys(space.pk):
        return rows.filter(substring_filter(query, *unindexed.fields))
    units = Unit.objects.filter(kind=kind, scopes__contains=[anywhere(space.pk)])
    units = units.filter(matches("words", terms)).order_by().values_list("owner_id", flat=True)
    others = rows.model._default_manager.filter(unindexed.where, space=space)
    others = others.filter(matches(unindexed.words, terms)).order_by().values_list("pk", flat=True)
    if live is None:
        return rows.filter(pk__in=units.union(others, all=True))
    return rows.filter(pk__in=units if live else others)


def substring_filter(query: str, *fields: str) -> Q:
    """Keep rows in which every piece of the query occurs in one of the fields, as typed."""
    condition = Q()
    for piece in query.lower().split()[:MAX_TERMS]:
        condition &= reduce(or_, (contains(field, piece) for field in fields))
    return condition


def contains(field: str, piece: str) -> Q:
    """Keep rows whose field has the piece, which is in lower case.

    Not icontains: the planner takes that for rare, and reads all rows to sort what it finds.
    """
    # The database cannot look into encrypted words: the lookup decrypts them.
    if field.rpartition("__")[2] in content_names() and encryption.any_keys():
        return Q(**{f"{field}__icontains": piece})
    # Many scripts have no case, and to lower every row is what takes long.
    text = Lower(field) if piece != piece.upper() else F(field)
    return Q(GreaterThan(StrIndex(text, Value(piece)), 0))


def near_words(space: Space, kind: str, text: str, *, most: int) -> dict[int, float]:
    """Return ids of rows that mean about the same as the text, with their similarity.

    Empty when embeddings are off.
    """
    embedder = embeddings.active()
    if embedder is None:
        return {}
    try:
        mine = embeddings.as_text(embed.embed_query(text, by=embedder))
    except embed.EmbeddingFailed as error:
        log.warning("looking by meaning failed: %s", error)
        return {}
    return _nearest(embedder, space, kind, mine, most=most, at_least=MIN_SIMILARITY_OF_QUERY)


def near_row(space: Space, kind: str, pk: int, *, most: int) -> dict[int, float]:
    """Return ids of rows that mean about the same as this one; empty while it has no vector."""
    embedder = embeddings.active()
    if embedder is None:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(MINE, [embedder.name, kind, pk])
        row = cursor.fetchone()
    if row is None:
        return {}
    limits = {"most": most + 1, "at_least": MIN_SIMILARITY_OF_ROWS}
    near = _nearest(embedder, space, kind, row[0], **limits)
    return {other: alike for other, alike in near.items() if other != pk}


def _nearest(embedder, space: Space, kind: str, mine: str, *, most: int, at_least: float) -> dict:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PREPARE, [embedder.name])
        sql = NEAREST.format(model=cursor.fetchone()[2], dims=int(embedder.dims))
        cursor.execute(sql, {"mine": mine, "space": space.pk, "kind": kind, "most": most})
        return {pk: alike for pk, alike in cursor.fetchall() if alike >= at_least}
