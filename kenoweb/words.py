"""Finding rows by words as a person types them: all of them, each perhaps unfinished."""

import re

from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from memory.models import Space, Unit
from memory.models.unit import anywhere
from memory.text import STOP_WORDS, fold, words

MOST = 12
# One word in each form it may stand in the index, or the beginning of a longer one.
ONE = "(keno_query(%s) || to_tsquery('pg_catalog.simple', %s))"
# Scripts without spaces: the index holds whole runs of them, not words.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u2e80-\u9fff\uf900-\ufaff]")
STOPS = {fold(word) for known in STOP_WORDS.values() for word in known}


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


def units(space: Space, kind: str, asked: list[str]) -> QuerySet:
    """Ids of the live facts or episodes of the space that have all these words."""
    found = Unit.objects.filter(kind=kind, scopes__contains=[anywhere(space.pk)])
    return found.filter(matches("words", asked)).values_list("owner_id")


def letters(said: str, *fields: str) -> Q:
    """Rows in which every piece stands somewhere, letter by letter."""
    every = Q()
    for piece in said.split()[:MOST]:
        some = Q()
        for field in fields:
            some |= Q(**{f"{field}__icontains": piece})
        every &= some
    return every
