"""The parts shared by all lists: paging, counting, chips of the filter, tabs and selects."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from kenoweb.auth.access import rows_in
from kenoweb.ui.filters import HERE, Filter, KindFilter
from kenoweb.ui.formatting import number
from memory.models import Chat, Space

PAGE_SIZE = 50
# Counting stops here, so that a page costs the same in a large memory.
COUNT_LIMIT = 1000
MAX_CHATS = 200
# How many of each kind a list of all kinds shows; a kind alone is paged.
ROWS_OF_EACH_KIND = 20


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
    if cursor := read_cursor(after, order):
        rows = rows.filter(order.beyond(*cursor))
    page = list(rows[: size + 1])
    return Part(page[:size], _write_cursor(page[size - 1], order) if len(page) > size else "")


@contextmanager
def by_index() -> Iterator[None]:
    """Forbid sequential scans: for text search the planner wrongly prefers to read the table."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('enable_seqscan', 'off', true)")
        yield


def counted(*rows: QuerySet, cap: int = COUNT_LIMIT, indexed: bool = False) -> list[int]:
    """Count each queryset, up to one more than the cap, in one query."""
    parts = [_capped_sql(queryset, cap) for queryset in rows]
    sql = ", ".join(f"(SELECT count(*) FROM ({part}) AS counted)" for part, _params in parts)
    with by_index() if indexed else nullcontext(), connection.cursor() as cursor:
        cursor.execute(f"SELECT {sql}", [value for _sql, params in parts for value in params])
        return list(cursor.fetchone())


def _capped_sql(rows: QuerySet, cap: int) -> tuple[str, tuple]:
    try:
        return rows.order_by().values("pk")[: cap + 1].query.sql_with_params()
    except EmptyResultSet:  # such as pk__in=[]
        return "SELECT 1 WHERE false", ()


def _write_cursor(row: object, order: Order) -> str:
    value = getattr(row, order.field)
    return f"{getattr(row, order.key)}~{value.isoformat() if order.type is datetime else value}"


def read_cursor(after: str, order: Order) -> tuple[Any, int] | None:
    """Return the value and key where the next part begins; None when the cursor is invalid."""
    pk, _tilde, text = after.partition("~")
    if not (pk.isascii() and pk.isdigit() and len(pk) < 19):
        return None
    try:
        value = parse_datetime(text) if order.type is datetime else order.type(text)
    except ValueError:
        return None
    # Not NaN, and not a time without a zone.
    usable = value is not None and value == value and getattr(value, "tzinfo", True)
    return (value, int(pk)) if usable else None


@dataclass(frozen=True)
class Chip:
    """One part of the filter, and the URL of the list without it."""

    label: str
    value: str
    url: str


@dataclass(frozen=True)
class View:
    """A filter with a name, as a tab."""

    label: str
    url: str
    count: str = ""
    current: bool = False


@dataclass(frozen=True)
class Select:
    """A field of the filter form with its choices."""

    name: str
    label: str
    choices: list[tuple[str, str]]
    value: str


@dataclass(frozen=True, kw_only=True)
class ListPage:
    """What every list shows, and the texts and URLs that it derives from its filter."""

    # The labels of the chips and of the selects, by the field of the filter.
    LABELS: ClassVar[dict] = {}
    FIELDS: ClassVar[dict] = {}
    # Fields of the filter that further pages reset.
    LEFT_OUT: ClassVar[dict] = {}

    filter: Filter
    url: str
    rows: list = field(default_factory=list)
    found: int = 0
    # Where the next part begins; empty at the end.
    after: str = ""
    may: bool = False
    nothing_yet: bool = False
    views: list[View] = field(default_factory=list)
    of_chats: list[Chat] = field(default_factory=list)
    cap: int = COUNT_LIMIT

    @property
    def count(self) -> str:
        return capped_number(self.found, self.cap)

    @cached_property  # every row asks for it
    def query(self) -> str:
        return self.filter.query(**self.LEFT_OUT)

    @property
    def more(self) -> str:
        changes = {"after": self.after, **self.LEFT_OUT}
        return filter_url(self.url, self.filter, **changes) if self.after else ""

    @property
    def chips(self) -> list[Chip]:
        """A chip for each value that is not the default."""
        usual = type(self.filter)()
        return [
            Chip(label, self._words(name), filter_url(self.url, self.filter, **{name: default}))
            for name, label in self.LABELS.items()
            if getattr(self.filter, name) != (default := getattr(usual, name))
        ]

    def _words(self, name: str) -> str:
        value, choices = getattr(self.filter, name), self.filter.CHOICES.get(name, {})
        if name == "chat":
            choices = dict(chat_choices(self.of_chats))
        if name == "as_of":
            return self.day
        if name == "month":
            return date_format(date.fromisoformat(f"{value}-01"), "YEAR_MONTH_FORMAT")
        return str(choices.get(value, value))

    @property
    def selects(self) -> list[Select]:
        return self.selects_of(self.FIELDS)

    def selects_of(self, labels: dict[str, str]) -> list[Select]:
        """Return a select for each field that has choices."""
        choices = {name: list(pairs.items()) for name, pairs in self.filter.CHOICES.items()}
        choices["chat"] = [("", _("Everywhere")), *chat_choices(self.of_chats)]
        choices["sort"] = list(self.filter.SORTS.items())
        return [
            Select(name, label, choices[name], getattr(self.filter, name))
            for name, label in labels.items()
            if name in choices
        ]

    @property
    def is_past(self) -> bool:
        return self.filter.when is not None

    @property
    def day(self) -> str:
        return format_day(self.filter.day)

    @property
    def here(self) -> str:
        return f"{self.url}?{self.query}" if self.query else self.url

    @property
    def today(self) -> str:
        return filter_url(self.url, self.filter, as_of="")


class ListPageByKind(ListPage):
    """A list of several kinds of rows: the newest of each, or one kind alone."""

    @property
    def is_cut(self) -> bool:
        """Whether some rows are only on the list of their kind."""
        return not self.filter.kind and len(self.rows) < self.found


@dataclass(frozen=True)
class BulkAnswer:
    """The result of an action on the ticked rows: a sentence, or why it was refused."""

    message: str = ""
    refusal: str = ""
    change_id: UUID | None = None

    @property
    def changed(self) -> bool:
        return self.change_id is not None


def newest_of_each(
    rows: dict[str, QuerySet], filters: KindFilter, order: Callable[[str], Order]
) -> dict[str, Part]:
    """Return the first rows of every kind, or a page of the kind that is filtered by."""
    if kind := filters.kind:
        return {kind: part(rows[kind], order=order(kind), after=filters.after)}
    return {
        kind: part(queryset, order=order(kind), size=ROWS_OF_EACH_KIND)
        for kind, queryset in rows.items()
    }


def views_of(filters: Filter, url: str, tabs: Iterable[tuple[str, Filter, int]]) -> list[View]:
    """Return a tab for each (label, filter, how many rows)."""
    return [
        View(label, filter_url(url, other), capped_number(n), other.query() == filters.query())
        for label, other, n in tabs
    ]


def views_by(
    name: str, labels: dict[str, str], numbers: Iterable[int], filters: Filter, url: str
) -> list[View]:
    """Return a tab for each choice of one field of the filter."""
    choices = zip(labels.items(), numbers, strict=True)
    tabs = ((label, replace(filters, **{name: key}), n) for (key, label), n in choices)
    return views_of(filters, url, tabs)


def chats_of(space: Space) -> list[Chat]:
    """Return the chats that a filter or a form offers, the most recently used first."""
    rows = rows_in(space, Chat).only("title", "key")
    return list(rows.order_by("-last_message_at", "-pk")[:MAX_CHATS])


def chat_choices(chats: list[Chat]) -> list[tuple[str, str]]:
    return [(HERE, _("The whole space")), *((str(chat.pk), str(chat)) for chat in chats)]


def filter_url(url: str, filters: Filter, **changes: str) -> str:
    query = filters.query(**changes)
    return f"{url}?{query}" if query else url


def capped_number(count: int, cap: int = COUNT_LIMIT) -> str:
    """Format a count; "1,000+" when counting stopped at the limit."""
    return f"{number(cap)}+" if count > cap else number(count)


def format_day(day: date | None) -> str:
    return date_format(day, "DATE_FORMAT") if day else ""
