"""Keyset paging: each part of a list begins after the last row of the part before.

As fast at the end as at the start, and no row is missed or shown twice while others are written.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime

PAGE_SIZE = 50
# Counting stops here, so that a page costs the same in a large memory.
COUNT_LIMIT = 1000


@dataclass(frozen=True)
class Order:
    """The field a list is sorted by; the key of the row decides between equals."""

    field: str
    type: type = datetime
    down: bool = True
    key: str = "pk"

    @property
    def names(self) -> list[str]:
        sign = "-" if self.down else ""
        return [f"{sign}{self.field}", f"{sign}{self.key}"]

    def beyond(self, value: Any, pk: int) -> Q:
        far = "lt" if self.down else "gt"
        # The first condition is what the index can use; the second decides between equals.
        return Q(**{f"{self.field}__{far}e": value}) & (
            Q(**{f"{self.field}__{far}": value}) | Q(**{f"{self.key}__{far}": pk})
        )


@dataclass(frozen=True)
class Part:
    rows: list
    # The cursor of the next part; empty at the end.
    after: str = ""


def part(rows: QuerySet, *, order: Order, after: str = "", size: int = PAGE_SIZE) -> Part:
    """Return the rows after the cursor; an invalid cursor means the beginning."""
    rows = rows.order_by(*order.names)
    if spot := _read(after, order):
        rows = rows.filter(order.beyond(*spot))
    found = list(rows[: size + 1])
    return Part(found[:size], _write(found[size - 1], order) if len(found) > size else "")


def is_place(after: str, order: Order) -> bool:
    """Whether the cursor is valid for this order."""
    return _read(after, order) is not None


@contextmanager
def by_index() -> Iterator[None]:
    """Forbid sequential scans: for text search the planner wrongly prefers to read the table."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('enable_seqscan', 'off', true)")
        yield


def counted(*rows: QuerySet, cap: int = COUNT_LIMIT, indexed: bool = False) -> list[int]:
    """Count each queryset, up to one more than the cap, in one query."""
    parts = [_counting(one, cap) for one in rows]
    sql = ", ".join(f"(SELECT count(*) FROM ({one}) AS counted)" for one, _params in parts)
    with by_index() if indexed else nullcontext(), connection.cursor() as cursor:
        cursor.execute(f"SELECT {sql}", [value for _sql, params in parts for value in params])
        return list(cursor.fetchone())


def _counting(rows: QuerySet, cap: int) -> tuple[str, tuple]:
    try:
        return rows.order_by().values("pk")[: cap + 1].query.sql_with_params()
    except EmptyResultSet:  # such as: one of no ids
        return "SELECT 1 WHERE false", ()


def _write(row: object, order: Order) -> str:
    value = getattr(row, order.field)
    return f"{getattr(row, order.key)}~{value.isoformat() if order.type is datetime else value}"


def _read(after: str, order: Order) -> tuple[Any, int] | None:
    pk, _tilde, said = after.partition("~")
    if not (pk.isascii() and pk.isdigit() and len(pk) < 19):
        return None
    try:
        value = parse_datetime(said) if order.type is datetime else order.type(said)
    except ValueError:
        return None
    usable = value is not None and value == value and getattr(value, "tzinfo", True)
    return (value, int(pk)) if usable else None
