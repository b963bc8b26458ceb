"""Columns that hold people's words: encrypted in an encrypted space, plain in any other.

A field encrypts what is saved (the row knows its space) and decrypts what is read, also in
values(). The queryset does the same for update() and bulk_update(), which know no row.
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

# How many rows of a space are decrypted to search for words in them.
MAX_SCANNED = 20_000
# Keys of JSON whose values stay plain: our own marks, and names by which rows are found.
PLAIN_KEYS = set(
    "outcome kind category type changes mode language heard_as by subject said_by status import"
    " change chat channel author_id".split()
)
# Further ones of a column: the reason of a line of the journal is a word of ours.
PLAIN_KEYS_OF = {"journal": {"reason"}}


class ContentMixin:
    """What the fields share: how a value is encrypted under a key, and decrypted."""

    def encrypt(self, value: Any, key: DataKey | None) -> Any:
        return encryption.encrypt(value, key) if isinstance(value, str) else value

    def decrypt(self, value: Any) -> Any:
        return encryption.decrypt(value)

    def pre_save(self, model_instance: Any, add: bool) -> Any:
        value = super().pre_save(model_instance, add)  # type: ignore[misc]
        if not _is_words(value):
            return value
        return self.encrypt(value, encryption.writing_key(space_of(model_instance)))


class ContentField(ContentMixin, models.TextField):
    def from_db_value(self, value, expression, connection):
        return self.decrypt(value)


class ContentListField(ContentMixin, ArrayField):
    """A list of words. Its elements are ContentFields, which decrypt themselves."""

    def __init__(self, base_field: models.Field | None = None, **options: Any):
        super().__init__(base_field or ContentField(), **options)

    def encrypt(self, value, key):
        return [encryption.encrypt(words, key) for words in value]

    def decrypt(self, value):
        return value and [encryption.decrypt(words) for words in value]


class ContentJSONField(ContentMixin, models.JSONField):
    """Encrypts every string in it but our own marks; keys, numbers and the shape stay plain."""

    def from_db_value(self, value, expression, connection):
        loaded = super().from_db_value(value, expression, connection)
        return self.decrypt(loaded) if isinstance(value, str) and PREFIX in value else loaded

    def encrypt(self, value, key):
        if key is None and PREFIX not in str(value):
            return value
        plain = PLAIN_KEYS | PLAIN_KEYS_OF.get(self.name, set())
        return _map_strings(value, lambda words: encryption.encrypt(words, key), plain=plain)

    def decrypt(self, value):
        return _map_strings(value, encryption.decrypt)


def _map_strings(value: Any, change: Callable[[str], Any], *, plain: Iterable[str] = ()) -> Any:
    """Change every string in a JSON value, but not the marks under the keys in `plain`."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [_map_strings(item, change, plain=plain) for item in value]
    if isinstance(value, dict):
        changed = {
            name: _map_strings(item, change, plain=plain)
            for name, item in value.items()
            if name not in plain or not _is_mark(item)
        }
        return value | changed
    return value


def _is_mark(value: Any) -> bool:
    return not isinstance(value, dict | list) or all(isinstance(item, str) for item in value)


def content_fields(model: Any) -> list[Any]:
    return [field for field in model._meta.concrete_fields if isinstance(field, ContentMixin)]


def content_models() -> list[Any]:
    """Return every model with words of people, the histories too, in a fixed order."""
    models_found = [m for m in apps.get_models() if not m._meta.proxy and content_fields(m)]
    return sorted(models_found, key=lambda model: model._meta.label)


@cache
def content_names() -> frozenset[str]:
    return frozenset(field.name for model in content_models() for field in content_fields(model))


def way_to_space(model: Any) -> str:
    """Return the lookup from a row to its space; a history without one goes by way of its row."""
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


def encrypted_column(row: Any, name: str) -> Any:
    """Return the value of this column as it is stored, for raw SQL."""
    field, value = row._meta.get_field(name), getattr(row, name)
    return field.encrypt(value, encryption.writing_key(space_of(row))) if value else value


class ContentQuerySet(models.QuerySet):
    def update(self, **values: Any) -> int:
        words = {f.name: f for f in content_fields(self.model) if _is_words(values.get(f.name))}
        if not words or not encryption.any_keys():
            return super().update(**values)
        way = way_to_space(self.model)
        count = 0
        for space in set(self.order_by().values_list(way, flat=True)):
            key = encryption.writing_key(space)
            stored = {name: field.encrypt(values[name], key) for name, field in words.items()}
            count += super(ContentQuerySet, self.filter(**{way: space})).update(**values | stored)
        return count

    update.alters_data = True  # type: ignore[attr-defined]

    def bulk_update(
        self, objs: Iterable[Any], fields: Iterable[str], batch_size: int | None = None
    ) -> int:
        fields, rows = list(fields), list(objs)
        words = [field for field in content_fields(self.model) if field.name in set(fields)]
        if not words or not rows or not encryption.any_keys():
            return super().bulk_update(rows, fields, batch_size)
        with self._encrypted(rows, words):
            return super().bulk_update(rows, fields, batch_size)

    bulk_update.alters_data = True  # type: ignore[attr-defined]

    @contextmanager
    def _encrypted(self, rows: list[Any], words: list[Any]) -> Iterator[None]:
        """Encrypt the words of the rows until they are written."""
        saved = self.model._base_manager.filter(pk__in=[row.pk for row in rows])
        spaces = dict(saved.values_list("pk", way_to_space(self.model)))
        originals = [(row, field, getattr(row, field.attname)) for row in rows for field in words]
        try:
            for row, field, value in originals:
                if _is_words(value):
                    key = encryption.writing_key(spaces.get(row.pk))
                    setattr(row, field.attname, field.encrypt(value, key))
            yield
        finally:
            for row, field, value in originals:
                setattr(row, field.attname, value)


def _is_words(value: Any) -> bool:
    return bool(value) and not hasattr(value, "resolve_expression")


class Content(models.Model):
    """A row with words of people. Words under the key of another space are not shown."""

    # The lookup of the space, for a row that has no column for it.
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
                value = row.__dict__.get(field.attname)
                if isinstance(value, encryption.Decrypted | list | dict):
                    row.__dict__[field.attname] = _map_strings(
                        value, lambda words: encryption.foreign(words, space_id) or words
                    )
        return row


@ContentField.register_lookup
class StoredExact(Exact):
    """Equal in any form in which the words may be stored."""

    def as_sql(self, compiler, connection):
        if not (isinstance(self.rhs, str) and self.rhs and encryption.any_keys()):
            return super().as_sql(compiler, connection)
        lhs, params = self.process_lhs(compiler, connection)
        return f"{lhs} = ANY(%s::text[])", [*params, encryption.stored_forms(self.rhs)]


@ContentField.register_lookup
class StoredIn(In):
    def as_sql(self, compiler, connection):
        if not (self.rhs_is_direct_value() and encryption.any_keys()):
            return super().as_sql(compiler, connection)
        forms = [form for words in self.rhs if words for form in encryption.stored_forms(words)]
        lhs, params = self.process_lhs(compiler, connection)
        return f"{lhs} = ANY(%s::text[])", [*params, [*forms, *(w for w in self.rhs if w == "")]]


class _Scanned(lookups.BuiltinLookup):
    """Search encrypted words by decrypting the newest MAX_SCANNED rows of each space.

    The database cannot do that; it still searches the plain rows.
    """

    def as_sql(self, compiler, connection):
        sql, params = super().as_sql(compiler, connection)
        is_plain = isinstance(self.lhs, Col) and isinstance(self.rhs, str) and self.rhs
        if not is_plain or not (spaces := _spaces_queried(compiler.query)):
            return sql, params
        field = self.lhs.target
        pk = self.lhs.alias, field.model._meta.pk.column
        lhs, lhs_params = compiler.compile(self.lhs)
        matches = [pk for space in spaces for pk in self._scan(field, space)]
        name = ".".join(compiler.quote_name_unless_alias(part) for part in pk)
        return (
            f"(({sql} AND NOT starts_with({lhs}, %s)) OR {name} = ANY(%s::bigint[]))",
            [*params, *lhs_params, PREFIX, matches],
        )

    def holds(self, words: str) -> bool:
        raise NotImplementedError

    def _scan(self, field: Any, space: int) -> list[int]:
        rows = field.model._base_manager.filter(**{way_to_space(field.model): space})
        newest = rows.order_by("-pk").values_list("pk", field.name)[:MAX_SCANNED]
        return [pk for pk, words in newest.iterator() if words and self.holds(words)]


def _spaces_queried(query: Any) -> set[int]:
    """Return the encrypted spaces of the query: the one it filters by, else all."""
    for where in query.where.children:
        if isinstance(where, Exact | RelatedExact) and isinstance(where.lhs, Col):
            field, value = where.lhs.target, where.rhs
            if field.name == "space" and field.model is query.model and isinstance(value, int):
                return {value} & encryption.spaces()
    return encryption.spaces()


def _scanned(base: Any, test: Callable[[str, str], bool]) -> None:
    """Register the lookup for ContentField, with its test of decrypted words."""

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
    """Compare elements in every form in which they may be stored."""

    def as_sql(self, compiler, connection):
        if not (isinstance(self.rhs, list | tuple) and self.rhs and encryption.any_keys()):
            return super().as_sql(compiler, connection)
        lhs, params = self.process_lhs(compiler, connection)
        every = [encryption.stored_forms(words) for words in self.rhs]
        if isinstance(self, ArrayOverlap):
            every = [[form for forms in every for form in forms]]
        return " AND ".join(f"{lhs} && %s::text[]" for _ in every), [
            value for forms in every for value in (*params, forms)
        ]


for _lookup in (ArrayContains, ArrayOverlap):
    ContentListField.register_lookup(type(_lookup.__name__, (_StoredElements, _lookup), {}))
