"""Queries that every message needs: compiled to SQL once, and prepared by Postgres.

Building a queryset, compiling it and planning it each take longer than finding the rows.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import cache, update_wrapper
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.models.constants import OnConflict
from django.db.models.query import get_related_populators
from django.db.models.sql import InsertQuery, UpdateQuery
from psycopg.types.numeric import Int8


class Parameter(models.Expression):
    """The place of a value in a prepared query."""

    def __init__(self, name: str, kind: str):
        super().__init__()
        self.name, self.kind = name, kind

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return f"%s::{self.kind}", [self]

    def adapt(self, value: Any) -> Any:
        """Return numbers always as the same type, or Postgres would prepare for each size."""
        if self.kind == "bigint":
            return Int8(value)
        return [Int8(number) for number in value] if self.kind == "bigint[]" else value


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

    The values are passed by name, each with its type in Postgres. Other arguments of the function,
    and a value that is None, change the SQL; each form of it is compiled once:

        @prepared(chat="bigint")
        def newest(chat, limit):
            return Message.objects.filter(chat=chat).order_by("-pk")[:limit]

        newest(chat=chat.pk, limit=20)
    """

    def __init__(self, **kinds: str):
        self.parameters = {name: Parameter(name, kind) for name, kind in kinds.items()}
        self.statements: dict[Hashable, _Statement] = {}

    def __call__(self, build: Callable[..., models.QuerySet]) -> Callable[..., list]:
        def query(**values: Any) -> list:
            fixed = {
                name: value
                for name, value in values.items()
                if name not in self.parameters or value is None
            }
            key = tuple(fixed.items())
            if key not in self.statements:
                self.statements[key] = _Statement(build(**self.parameters | fixed))
            return self.statements[key].rows(values)

        return update_wrapper(query, build)


class prepared_update:
    """The same for a function that returns a queryset and the new values of its rows.

    The result is a function that returns the number of rows written.
    """

    def __init__(self, **kinds: str):
        self.parameters = {name: Parameter(name, kind) for name, kind in kinds.items()}
        self.statement: tuple[str, Sequence] | None = None

    def __call__(self, build: Callable[..., tuple[models.QuerySet, dict]]) -> Callable[..., int]:
        def write(**values: Any) -> int:
            if self.statement is None:
                queryset, updates = build(**self.parameters)
                query: Any = queryset.order_by().query.chain(UpdateQuery)
                query.add_update_values(updates)
                self.statement = query.get_compiler(queryset.db).as_sql()
            sql, params = self.statement
            with cursor_for(sql) as cursor:
                cursor.execute(sql, _fill(params, values))
                return cursor.rowcount

        return update_wrapper(write, build)


_INSERTS: dict[tuple[type[models.Model], bool], str] = {}
_WRITES: dict[tuple[type[models.Model], tuple[str, ...]], str] = {}


def insert(
    row: models.Model, *, unless_there: bool = False, within: str = "{}", more: Sequence = ()
) -> bool:
    """Insert the row, without signals; tell whether it is new.

    `unless_there` does nothing when a unique constraint has such a row already. `within` is a
    statement that does more beside it: it has `{}` for this one and returns the id that this one
    returns; `more` are the values behind it.
    """
    sql, params = insert_sql(row, unless_there=unless_there)
    with connection.cursor() as cursor:
        cursor.execute(within.format(sql), [*params, *more])
        inserted = cursor.fetchone()
    if inserted is None:
        return False
    row.pk = inserted[0]
    row._state.adding, row._state.db = False, connection.alias
    return True


def insert_sql(row: models.Model, *, unless_there: bool = False) -> tuple[str, list]:
    """Return the statement that stores the row and returns its id, and its values."""
    fields = _insertable_fields(type(row))
    kind = (type(row), unless_there)
    if kind not in _INSERTS:
        query = InsertQuery(type(row), on_conflict=OnConflict.IGNORE if unless_there else None)
        query.insert_values(fields, [row])
        compiler = query.get_compiler(connection=connection)
        compiler.returning_fields = [row._meta.pk]
        _INSERTS[kind] = compiler.as_sql()[0][0]
    return _INSERTS[kind], _column_values(row, fields, add=True)


def _column_values(row: models.Model, fields: list, *, add: bool) -> list:
    django = connections[DEFAULT_DB_ALIAS]
    return [field.get_db_prep_save(field.pre_save(row, add), django) for field in fields]


@cache
def _insertable_fields(model: type[models.Model]) -> list:
    fields = model._meta.concrete_fields
    return [field for field in fields if not field.primary_key and not field.generated]


def save_fields(row: models.Model, *names: str) -> None:
    """Write these fields of a stored row, without signals."""
    meta: Any = row._meta
    fields = [meta.get_field(name) for name in names]
    if (type(row), names) not in _WRITES:
        quote = connection.ops.quote_name
        values = ", ".join(f"{quote(field.column)} = {_placeholder(field)}" for field in fields)
        where = f"{quote(meta.pk.column)} = %s"
        _WRITES[type(row), names] = f"UPDATE {quote(meta.db_table)} SET {values} WHERE {where}"
    with connection.cursor() as cursor:
        params = [*_column_values(row, fields, add=False), row.pk]
        cursor.execute(_WRITES[type(row), names], params)


def _placeholder(field: Any) -> str:
    get_placeholder = getattr(field, "get_placeholder", None)
    return get_placeholder(None, None, connection) if get_placeholder else "%s"


def _fill(params: Sequence, values: dict[str, Any]) -> list:
    return [
        param.adapt(values[param.name]) if isinstance(param, Parameter) else param
        for param in params
    ]


class _Statement:
    """One query as SQL, with what turns its result into rows."""

    def __init__(self, queryset: Any):
        compiler = queryset.query.get_compiler(queryset.db)
        self.sql, self.params = compiler.as_sql(with_col_aliases=False)
        self.model, self.fields, self.db = queryset.model, queryset._fields, queryset.db
        columns = [select[0] for select in compiler.select]
        self.converters = compiler.get_converters(columns)
        self.names: list[str] = []
        if self.fields is None:
            whole = compiler.klass_info["select_fields"]
            self.first, self.end = whole[0], whole[-1] + 1
            own = columns[self.first : self.end]
            self.names = [column.target.attname for column in own]
            populators: Any = get_related_populators
            self.populators = populators(compiler.klass_info, compiler.select, queryset.db)
            self.annotations = compiler.annotation_col_map

    def rows(self, values: dict[str, Any]) -> list:
        with cursor_for(self.sql) as cursor:
            cursor.execute(self.sql, _fill(self.params, values))
            rows = cursor.fetchall()
        if self.converters:
            rows = [self._converted(row) for row in rows]
        return [self._instance(row) for row in rows] if self.names else rows

    def _converted(self, row: tuple) -> list:
        values = list(row)
        for place, (converters, expression) in self.converters.items():
            for convert in converters:
                values[place] = convert(values[place], expression, connection)
        return values

    def _instance(self, row: Any) -> models.Model:
        instance = self.model.from_db(self.db, self.names, row[self.first : self.end])
        for populator in self.populators:
            populator.populate(row, instance)
        for name, place in self.annotations.items():
            setattr(instance, name, row[place])
        return instance


def cursor_for(sql: str) -> Any:
    """Return a cursor that prepares the statement; Django's own where sessions are pooled.

    History puts a statement of its own before a write, and pgtrigger.ignore() before every one;
    two together cannot be prepared.
    """
    # The connection of this thread, looked up once.
    django: Any = connections[DEFAULT_DB_ALIAS]
    is_write = not sql.lstrip().startswith("SELECT")
    pooled = django.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    wrappers = django.execute_wrappers
    ignoring = any(wrapper.__module__.startswith("pgtrigger") for wrapper in wrappers)
    if pooled or ignoring or (is_write and wrappers):
        return django.cursor()
    django.ensure_connection()
    django.connection.prepare_threshold = 0
    return django._prepare_cursor(psycopg.Cursor(django.connection))
