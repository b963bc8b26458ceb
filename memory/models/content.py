"""Columns that hold people's words: encrypted in a space that is, plain in any other.

A field encrypts what is saved (the row knows its space) and opens what is read, also in values().
The queryset does the same for update() and bulk_update(), which know no row.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.fields.array import (  # type: ignore[attr-defined]
    ArrayContains,
    ArrayOverlap,
)
from django.db import models
from django.db.models import lookups
from django.db.models.expressions import Col
from django.db.models.fields.related_lookups import RelatedExact
from django.db.models.lookups import Exact, In

from memory.models import encryption
from memory.models.encryption import PREFIX, DataKey

# So many rows of a space are opened to look for words in them.
MOST_SCANNED = 20_000
# Inside JSON: our own marks, and names by which rows are found. They stay plain.
CLEAR = {
    *("outcome", "kind", "category", "type", "changes", "mode", "language", "heard_as"),
    *("by", "subject", "said_by", "status", "import", "change", "chat", "channel", "author_id"),
}
# Beside these, by column: why a line of the journal was left, in a word of ours.
CLEAR_IN = {"journal": {"reason"}}


class ContentMixin:
    """What the fields share: how a value is stored under a key, and how it is opened."""

    def stored(self, value: Any, key: DataKey | None) -> Any:
        return encryption.encrypt(value, key) if isinstance(value, str) else value

    def opened(self, value: Any) -> Any:
        return encryption.decrypt(value)

    def pre_save(self, model_instance: Any, add: bool) -> Any:
        value = super().pre_save(model_instance, add)  # type: ignore[misc]
        if not value or hasattr(value, "resolve_expression"):
            return value
        return self.stored(value, encryption.writer(space_of(model_instance)))


class ContentField(ContentMixin, models.TextField):
    def from_db_value(self, value, expression, connection):
        return self.opened(value)


class ContentListField(ContentMixin, ArrayField):
    """A list of words. Its elements are ContentFields, which open themselves."""

    def __init__(self, base_field: models.Field | None = None, **options: Any):
        super().__init__(base_field or ContentField(), **options)

    def stored(self, value, key):
        return [encryption.encrypt(one, key) for one in value]

    def opened(self, value):
        return value and [encryption.decrypt(one) for one in value]


class ContentJSONField(ContentMixin, models.JSONField):
    """Every string in it is words, but for our own marks; keys, numbers and the shape are not."""

    def from_db_value(self, value, expression, connection):
        found = super().from_db_value(value, expression, connection)
        return self.opened(found) if isinstance(value, str) and PREFIX in value else found

    def stored(self, value, key):
        if key is None and PREFIX not in str(value):
            return value
        but = CLEAR | CLEAR_IN.get(self.name, set())
        return _mapped(value, lambda words: encryption.encrypt(words, key), but=but)

    def opened(self, value):
        return _mapped(value, encryption.decrypt)


def _mapped(value: Any, change: Callable[[str], Any], *, but: Iterable[str] = ()) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [_mapped(one, change, but=but) for one in value]
    if isinstance(value, dict):
        return {
            name: one if name in but and _is_mark(one) else _mapped(one, change, but=but)
            for name, one in value.items()
        }
    return value


def _is_mark(value: Any) -> bool:
    return not isinstance(value, dict | list) or all(isinstance(one, str) for one in value)


def content_fields(model: Any) -> list[Any]:
    return [field for field in model._meta.concrete_fields if isinstance(field, ContentMixin)]


def content_models() -> list[Any]:
    """Every table with words of people, the histories too, in one order."""
    found = [m for m in apps.get_models() if not m._meta.proxy and content_fields(m)]
    return sorted(found, key=lambda model: model._meta.label)


@cache
def content_names() -> frozenset[str]:
    return frozenset(field.name for model in content_models() for field in content_fields(model))


def way_to_space(model: Any) -> str:
    """The lookup that leads from a row to its space; a history without one asks its row."""
    names = {field.name for field in model._meta.fields}
    if "space" in names:
        return "space"
    tracked = getattr(model, "pgh_tracked_model", None)
    return f"pgh_obj__{way_to_space(tracked)}" if tracked else model.SPACE


def space_of(row: Any) -> int | None:
    *way, last = way_to_space(type(row)).split("__")
    for name in way:
        row = getattr(row, name)
    return getattr(row, f"{last}_id")


def stored(row: Any, name: str) -> Any:
    """What the row has in this column as it is stored: for whoever writes it by raw SQL."""
    field, value = row._meta.get_field(name), getattr(row, name)
    return field.stored(value, encryption.writer(space_of(row))) if value else value


class ContentQuerySet(models.QuerySet):
    def update(self, **values: Any) -> int:
        words = {f.name: f for f in content_fields(self.model) if _is_words(values.get(f.name))}
        if not words or not encryption.any_keys():
            return super().update(**values)
        way = way_to_space(self.model)
        count = 0
        for space in set(self.order_by().values_list(way, flat=True)):
            key = encryption.writer(space)
            given = {name: field.stored(values[name], key) for name, field in words.items()}
            count += super(ContentQuerySet, self.filter(**{way: space})).update(**values | given)
        return count

    update.alters_data = True  # type: ignore[attr-defined]

    def bulk_update(
        self, objs: Iterable[Any], fields: Iterable[str], batch_size: int | None = None
    ) -> int:
        fields = list(fields)
        rows = list(objs)
        words = [field for field in content_fields(self.model) if field.name in set(fields)]
        if not words or not rows or not encryption.any_keys():
            return super().bulk_update(rows, fields, batch_size)
        with self._stored(rows, words):
            return super().bulk_update(rows, fields, batch_size)

    bulk_update.alters_data = True  # type: ignore[attr-defined]

    @contextmanager
    def _stored(self, rows: list[Any], words: list[Any]) -> Iterator[None]:
        """Give the rows their words as they are stored, until they are written."""
        found = self.model._base_manager.filter(pk__in=[row.pk for row in rows])
        spaces = dict(found.values_list("pk", way_to_space(self.model)))
        were = [(row, field, getattr(row, field.attname)) for row in rows for field in words]
        try:
            for row, field, value in were:
                if _is_words(value):
                    key = encryption.writer(spaces.get(row.pk))
                    setattr(row, field.attname, field.stored(value, key))
            yield
        finally:
            for row, field, value in were:
                setattr(row, field.attname, value)


def _is_words(value: Any) -> bool:
    return bool(value) and not hasattr(value, "resolve_expression")


class Content(models.Model):
    """A row with words of people. Those under the key of another space are not shown."""

    # The way to the space where the row has no column for it.
    SPACE: ClassVar[str] = "space"

    objects: Any = ContentQuerySet.as_manager()

    class Meta:
        abstract = True
        base_manager_name = "objects"

    @classmethod
    def from_db(cls, db, field_names, values) -> Any:  # type: ignore[no-untyped-def,override]
        row = super().from_db(db, field_names, values)
        if encryption.in_use() and (space_id := row.__dict__.get("space_id")):
            for field in content_fields(cls):
                words = row.__dict__.get(field.attname)
                if isinstance(words, encryption.Opened):
                    row.__dict__[field.attname] = encryption.foreign(words, space_id) or words
                elif isinstance(words, list | dict):
                    row.__dict__[field.attname] = _mapped(
                        words, lambda one: encryption.foreign(one, space_id) or one
                    )
        return row


@ContentField.register_lookup
class StoredExact(Exact):
    """Equal in any form in which the words may be stored."""

    def as_sql(self, compiler, connection):
        if not (isinstance(self.rhs, str) and self.rhs and encryption.any_keys()):
            return super().as_sql(compiler, connection)
        lhs, params = self.process_lhs(compiler, connection)
        return f"{lhs} = ANY(%s::text[])", [*params, encryption.forms(self.rhs)]


@ContentField.register_lookup
class StoredIn(In):
    def as_sql(self, compiler, connection):
        if not (self.rhs_is_direct_value() and encryption.any_keys()):
            return super().as_sql(compiler, connection)
        given = [form for words in self.rhs if words for form in encryption.forms(words)]
        lhs, params = self.process_lhs(compiler, connection)
        return f"{lhs} = ANY(%s::text[])", [*params, [*given, *(w for w in self.rhs if w == "")]]


class _Scanned(lookups.BuiltinLookup):
    """Looks into encrypted words by opening them: the newest MOST_SCANNED rows of each space.

    The database cannot do that. Other rows are found by it as ever.
    """

    def as_sql(self, compiler, connection):
        sql, params = super().as_sql(compiler, connection)
        is_plain = isinstance(self.lhs, Col) and isinstance(self.rhs, str) and self.rhs
        if not is_plain or not (spaces := _asked_of(compiler.query) & encryption.spaces()):
            return sql, params
        field = self.lhs.target
        pk = self.lhs.alias, field.model._meta.pk.column
        lhs, lhs_params = compiler.compile(self.lhs)
        found = [pk for space in spaces for pk in self._scan(field, space)]
        name = ".".join(compiler.quote_name_unless_alias(one) for one in pk)
        return (
            f"(({sql} AND NOT starts_with({lhs}, %s)) OR {name} = ANY(%s::bigint[]))",
            [*params, *lhs_params, PREFIX, found],
        )

    def holds(self, words: str) -> bool:
        raise NotImplementedError

    def _scan(self, field: Any, space: int) -> list[int]:
        rows = field.model._base_manager.filter(**{way_to_space(field.model): space})
        newest = rows.order_by("-pk").values_list("pk", field.name)[:MOST_SCANNED]
        return [pk for pk, words in newest.iterator() if words and self.holds(words)]


def _asked_of(query: Any) -> set[int]:
    """The space that a query asks for by its first conditions, else every space."""
    for one in query.where.children:
        if isinstance(one, Exact | RelatedExact) and isinstance(one.lhs, Col):
            target = one.lhs.target
            if target.name == "space" and target.model is query.model and isinstance(one.rhs, int):
                return {one.rhs}
    return encryption.spaces()


def _scanned(base: Any, test: Callable[[str, str], bool]) -> None:
    """Give ContentField the lookup, with what it means for opened words."""

    class Scanned(_Scanned, base):
        def holds(self, words: str) -> bool:
            return test(words, self.rhs)

    ContentField.register_lookup(Scanned)


_scanned(lookups.Contains, lambda words, part: part in words)
_scanned(lookups.IContains, lambda words, part: part.lower() in words.lower())
_scanned(lookups.StartsWith, lambda words, part: words.startswith(part))
_scanned(lookups.IExact, lambda words, other: words.lower() == other.lower())
_scanned(lookups.Regex, lambda words, pattern: bool(re.search(pattern, words)))
_scanned(lookups.IRegex, lambda words, pattern: bool(re.search(pattern, words, re.IGNORECASE)))


class _StoredElements(lookups.Lookup):
    """An element is the same in any form in which it may be stored."""

    def as_sql(self, compiler, connection):
        if not (isinstance(self.rhs, list | tuple) and self.rhs and encryption.any_keys()):
            return super().as_sql(compiler, connection)
        lhs, params = self.process_lhs(compiler, connection)
        every = [encryption.forms(words) for words in self.rhs]
        if isinstance(self, ArrayOverlap):
            every = [[form for forms in every for form in forms]]
        return " AND ".join(f"{lhs} && %s::text[]" for _ in every), [
            value for forms in every for value in (*params, forms)
        ]


@ContentListField.register_lookup
class StoredContains(_StoredElements, ArrayContains):
    pass


@ContentListField.register_lookup
class StoredOverlap(_StoredElements, ArrayOverlap):
    pass
