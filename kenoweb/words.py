"""Finding rows by words as a person types them: all of them, each perhaps unfinished."""

import re
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db import connection
from django.db.models import BooleanField, F, Q, QuerySet, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Lower, StrIndex
from django.db.models.lookups import Contains, GreaterThan

from kenoweb.paging import CAP, by_index
from memory.models import Space, Unit
from memory.models.unit import anywhere
from memory.text import STOP_WORDS, fold, words

MOST = 12
# One word in each form it may stand in the index, or the beginning of a longer one.
ONE = "(keno_query(%s) || to_tsquery('pg_catalog.simple', %s))"
# Scripts without spaces: the index holds whole runs of them, not words.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u2e80-\u9fff\uf900-\ufaff]")
# Up to here the rows found by words are put in order afterwards.
FEW = 2000
# What the index has said to one question, for those who list and count its answer.
Looked = dict[str, list[int]]
STOPS = {fold(word) for known in STOP_WORDS.values() for word in known}

# keno_words of no known language, spelt out as the indexes on what is not live have it: an index
# may not call a function that is not built in.
FOLDED = (
    "regexp_replace(lower(regexp_replace(normalize(left({said}, 20000), NFD), "
    r"'[\u0300-\u036f]+', '', 'g')), "
    r"'[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+', "
    "' ', 'g')"
)


@dataclass(frozen=True)
class Away:
    """Rows whose words stand in no unit: which, their words as the index has them, their fields."""

    where: Q
    words: str
    fields: tuple[str, ...]


def spoken(said: str) -> list[str]:
    """The words the index can be asked for; none when it would not know them."""
    if UNSPACED.search(said):
        return []
    found = [word.replace("'", "") for word in words(fold(said))]
    return [word for word in dict.fromkeys(found) if word and word not in STOPS][:MOST]


def matches(column: str, asked: list[str]) -> RawSQL:
    """Whether the tsvector has all these words. `column` is SQL of ours, never of a person."""
    query = " && ".join([ONE] * len(asked))
    params = [part for word in asked for part in (word, f"'{word}':*")]
    return RawSQL(f"{column} @@ ({query})", params, output_field=BooleanField())


def words_of(said: str) -> str:
    """SQL for the words of these columns. They are ours, never of a person."""
    folded = FOLDED.format(said=said)
    parts = (f"to_tsvector('pg_catalog.{name}', {folded})" for name in ("english", "spanish"))
    return f"({' || '.join(parts)})"


def having(
    rows: QuerySet,
    *,
    space: Space,
    kind: str,
    said: str,
    away: Away,
    live: bool | None = None,
    looked: Looked | None = None,
) -> QuerySet:
    """The rows with all these words in them; `live` says that only such are asked for, or none.

    Few are found first and then put in order; with many it is faster to go through the rows in
    their order and to ask each.
    """
    asked = spoken(said)
    if not asked:
        found = _lettered(rows, said, away, looked)
        many = len(found) > CAP
        return rows.filter(letters(said, *away.fields) if many else _these(rows, found))
    looked = _look(space, rows, kind, asked, away, live=live, looked=looked)
    parts = []
    if (found := looked.get("units")) is not None:
        parts.append(Q(_these(rows, found) if len(found) <= FEW else _each(rows, kind, asked)))
    if (found := looked.get("away")) is not None:
        each = away.where & Q(matches(away.words, asked))
        parts.append(Q(_these(rows, found)) if len(found) <= FEW else each)
    return rows.filter(reduce(or_, parts))


def to_count(
    rows: QuerySet,
    *,
    space: Space,
    kind: str,
    said: str,
    away: Away,
    live: bool | None = None,
    looked: Looked | None = None,
) -> QuerySet:
    """The same rows for counting, where the order does not matter.

    First those that are found already: mostly they are more than anybody counts, and Postgres does
    not read on to the rest.
    """
    asked = spoken(said)
    if not asked:
        return rows.filter(_these(rows, _lettered(rows, said, away, looked)))
    looked = _look(space, rows, kind, asked, away, live=live, looked=looked)
    every = {
        "units": lambda: Q(pk__in=_units(space, kind, asked)),
        "away": lambda: away.where & Q(matches(away.words, asked)),
    }
    known = [rows.filter(_these(rows, found)) for found in looked.values()]
    rest = [
        rows.filter(every[name]()).exclude(_these(rows, found))
        for name, found in looked.items()
        if len(found) > FEW
    ]
    first, *others = known + rest
    return first.union(*others, all=True) if others else first


def _these(rows: QuerySet, pks: list[int]) -> RawSQL:
    """As one word: thousands of single values cost more to send than to find."""
    table, array = rows.model._meta.db_table, f"{{{','.join(map(str, pks))}}}"
    return RawSQL(f"{table}.id = ANY(%s::bigint[])", [array], output_field=BooleanField())


def _look(
    space: Space, rows: QuerySet, kind: str, asked: list[str], away: Away, *, live, looked
) -> Looked:
    """What the indexes say of the words, some of it, asked once and in one go."""
    looked = {} if looked is None else looked
    if not looked:
        questions = {}
        if live is not False:
            questions["units"] = _units(space, kind, asked)
        if live is not True:
            questions["away"] = _away_keys(space, rows, away, asked)
        looked |= zip(questions, _some(*questions.values()), strict=True)
    return looked


def _some(*questions: QuerySet) -> list[list[int]]:
    parts = [one.order_by()[: FEW + 1].query.sql_with_params() for one in questions]
    sql = ", ".join(f"ARRAY({one})" for one, _values in parts)
    with by_index(), connection.cursor() as cursor:
        cursor.execute(f"SELECT {sql}", [one for _sql, values in parts for one in values])
        return list(cursor.fetchone())


def _lettered(rows: QuerySet, said: str, away: Away, looked: Looked | None) -> list[int]:
    """No index knows them: read through all there is, until there are more than a page counts."""
    looked = {} if looked is None else looked
    if "letters" not in looked:
        found = rows.filter(letters(said, *away.fields, rare=True)).order_by()
        looked["letters"] = list(found.values_list("pk", flat=True)[: CAP + 1])
    return looked["letters"]


def _units(space: Space, kind: str, asked: list[str]) -> QuerySet:
    found = Unit.objects.filter(kind=kind, scopes__contains=[anywhere(space.pk)])
    return found.filter(matches("words", asked)).values_list("owner_id", flat=True)


def _away_keys(space: Space, rows: QuerySet, away: Away, asked: list[str]) -> QuerySet:
    known = rows.model._default_manager.filter(away.where, space=space)
    return known.filter(matches(away.words, asked)).values_list("pk", flat=True)


def _each(rows: QuerySet, kind: str, asked: list[str]) -> RawSQL:
    """The same question to the unit of one row, as a value: the planner cannot turn it around."""
    one = matches("u.words", asked)
    table = rows.model._meta.db_table
    sql = f"(SELECT {one.sql} FROM memory_unit u WHERE u.kind = %s AND u.owner_id = {table}.id)"
    return RawSQL(sql, [*one.params, kind], output_field=BooleanField())


def letters(said: str, *fields: str, rare: bool = False) -> Q:
    """Rows in which every piece stands somewhere, letter by letter.

    `rare` is for those who read everything anyway: twice as fast, but the planner then expects to
    find hardly any, and would read the whole table where a list in order begins with such a row.
    """
    every = Q()
    for piece in said.lower().split()[:MOST]:
        # Signs and many scripts have no case, and to lower every row is what takes long.
        plain = piece == piece.upper()
        some = Q()
        for field in fields:
            text = F(field) if plain else Lower(field)
            some |= Q(
                Contains(text, piece) if rare else GreaterThan(StrIndex(text, Value(piece)), 0)
            )
        every &= some
    return every
