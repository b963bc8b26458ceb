"""Statements that every message needs: made into SQL once, questions also prepared by Postgres.

Building a queryset and its SQL takes longer than finding the rows, and so does planning it.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import cache, update_wrapper
from typing import Any

import psycopg
from django.db import connection, models
from django.db.models.constants import OnConflict
from django.db.models.query import get_related_populators
from django.db.models.sql import InsertQuery, UpdateQuery
from psycopg.types.numeric import Int8


class Parameter(models.Expression):
    """The place of a value in a prepared question."""

    def __init__(self, name: str, kind: str):
        super().__init__()
        self.name, self.kind = name, kind

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return f"%s::{self.kind}", [self]

    def of(self, value: Any) -> Any:
        """The value; numbers always as the same type, or Postgres would prepare for each size."""
        if self.kind == "bigint":
            return Int8(value)
        return [Int8(one) for one in value] if self.kind == "bigint[]" else value


@models.Field.register_lookup
class AnyOf(models.Lookup):
    """`pk__any_of=ids`: one of a list that is a single value of the statement."""

    lookup_name = "any_of"

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        lhs, lhs_params = self.process_lhs(compiler, connection)
        rhs, rhs_params = self.process_rhs(compiler, connection)
        return f"{lhs} = ANY({rhs})", [*lhs_params, *rhs_params]


class prepared:
    """Turn a function that returns a queryset into one that returns its rows, as a list.

    The values are given by name, each with its type in Postgres. Whatever else the function takes
    decides how the statement looks, and so does a value that is None; each look is made once:

        @prepared(chat="bigint")
        def newest(chat, limit):
            return Message.objects.filter(chat=chat).order_by("-pk")[:limit]

        newest(chat=chat.pk, limit=20)
    """

    def __init__(self, **kinds: str):
        self.parameters = {name: Parameter(name, kind) for name, kind in kinds.items()}
        self.statements: dict[Hashable, _Statement] = {}

    def __call__(self, build: Callable[..., models.QuerySet]) -> Callable[..., list]:
        def ask(**given: Any) -> list:
            shape = {
                name: value
                for name, value in given.items()
                if name not in self.parameters or value is None
            }
            key = tuple(shape.items())
            if key not in self.statements:
                self.statements[key] = _Statement(build(**self.parameters | shape))
            return self.statements[key].rows(given)

        return update_wrapper(ask, build)


class prepared_update:
    """The same for a function that returns a queryset and the new values of its rows.

    What comes of it returns how many rows there were.
    """

    def __init__(self, **kinds: str):
        self.parameters = {name: Parameter(name, kind) for name, kind in kinds.items()}
        self.statement: tuple[str, Sequence] | None = None

    def __call__(self, build: Callable[..., tuple[models.QuerySet, dict]]) -> Callable[..., int]:
        def write(**given: Any) -> int:
            if self.statement is None:
                queryset, values = build(**self.parameters)
                query: Any = queryset.order_by().query.chain(UpdateQuery)
                query.add_update_values(values)
                self.statement = query.get_compiler(queryset.db).as_sql()
            sql, params = self.statement
            with cursor_for(sql) as cursor:
                cursor.execute(sql, _filled(params, given))
                return cursor.rowcount

        return update_wrapper(write, build)


_INSERTS: dict[tuple[type[models.Model], bool], str] = {}
_WRITES: dict[tuple[type[models.Model], tuple[str, ...]], str] = {}


def insert(row: models.Model, *, unless_there: bool = False) -> bool:
    """Insert the row, without signals; tell whether it is new.

    `unless_there` leaves one alone that a unique constraint has already.
    """
    sql, params = insert_sql(row, unless_there=unless_there)
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        made = cursor.fetchone()
    if made is None:
        return False
    row.pk = made[0]
    row._state.adding, row._state.db = False, connection.alias
    return True


def insert_sql(row: models.Model, *, unless_there: bool = False) -> tuple[str, list]:
    """The statement that stores the row and returns its id, and its values."""
    fields = _inserted(type(row))
    kind = (type(row), unless_there)
    if kind not in _INSERTS:
        query = InsertQuery(type(row), on_conflict=OnConflict.IGNORE if unless_there else None)
        query.insert_values(fields, [row])
        compiler = query.get_compiler(connection=connection)
        compiler.returning_fields = [row._meta.pk]
        _INSERTS[kind] = compiler.as_sql()[0][0]
    stored = [one.get_db_prep_save(one.pre_save(row, add=True), connection) for one in fields]
    return _INSERTS[kind], stored


@cache
def _inserted(model: type[models.Model]) -> list:
    return [one for one in model._meta.concrete_fields if not one.primary_key and not one.generated]


def save_fields(row: models.Model, *names: str) -> None:
    """Write these fields of a stored row, without signals."""
    meta: Any = row._meta
    fields = [meta.get_field(name) for name in names]
    if (type(row), names) not in _WRITES:
        quote = connection.ops.quote_name
        values = ", ".join(f"{quote(one.column)} = {_placeholder(one)}" for one in fields)
        where = f"{quote(meta.pk.column)} = %s"
        _WRITES[type(row), names] = f"UPDATE {quote(meta.db_table)} SET {values} WHERE {where}"
    stored = [one.get_db_prep_save(one.pre_save(row, add=False), connection) for one in fields]
    with connection.cursor() as cursor:
        cursor.execute(_WRITES[type(row), names], [*stored, row.pk])


def _placeholder(field: Any) -> str:
    made = getattr(field, "get_placeholder", None)
    return made(None, None, connection) if made else "%s"


def _filled(params: Sequence, given: dict[str, Any]) -> list:
    return [one.of(given[one.name]) if isinstance(one, Parameter) else one for one in params]


class _Statement:
    """One question as SQL, with what makes rows of its answer."""

    def __init__(self, queryset: Any):
        compiler = queryset.query.get_compiler(queryset.db)
        self.sql, self.params = compiler.as_sql(with_col_aliases=False)
        self.model, self.fields, self.db = queryset.model, queryset._fields, queryset.db
        columns = [one[0] for one in compiler.select]
        self.converters = compiler.get_converters(columns)
        self.names: list[str] = []
        if self.fields is None:
            whole = compiler.klass_info["select_fields"]
            self.first, self.end = whole[0], whole[-1] + 1
            self.names = [one[0].target.attname for one in compiler.select[self.first : self.end]]
            populators: Any = get_related_populators
            self.beside = populators(compiler.klass_info, compiler.select, queryset.db)
            self.more = compiler.annotation_col_map

    def rows(self, given: dict[str, Any]) -> list:
        with cursor_for(self.sql) as cursor:
            cursor.execute(self.sql, _filled(self.params, given))
            found = cursor.fetchall()
        if self.converters:
            found = [self._converted(row) for row in found]
        return [self._instance(row) for row in found] if self.names else found

    def _converted(self, row: tuple) -> list:
        values = list(row)
        for place, (converters, expression) in self.converters.items():
            for convert in converters:
                values[place] = convert(values[place], expression, connection)
        return values

    def _instance(self, row: Any) -> models.Model:
        made = self.model.from_db(self.db, self.names, row[self.first : self.end])
        for populator in self.beside:
            populator.populate(row, made)
        for name, place in self.more.items():
            setattr(made, name, row[place])
        return made


def cursor_for(sql: str) -> Any:
    """A cursor that prepares the statement, where sessions last; else Django's own.

    History puts a statement of its own before a write, and whoever ignores triggers before every
    statement; two together cannot be prepared.
    """
    is_write = not sql.lstrip().startswith("SELECT")
    pooled = connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    wrappers = connection.execute_wrappers
    ignoring = any(one.__module__.startswith("pgtrigger") for one in wrappers)
    if pooled or ignoring or (is_write and wrappers):
        return connection.cursor()
    connection.ensure_connection()
    connection.connection.prepare_threshold = 0
    django: Any = connection
    return django._prepare_cursor(psycopg.Cursor(connection.connection))
