"""The parts shared by all lists: chips of the filter, views, counts and the day looked back to."""

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
CHATS = 200
# Of each kind on the first look; a kind alone is paged.
OF_A_KIND = 20


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

    # What a chip calls each part of the filter, and the form each of its selects, in this order.
    LABELS: ClassVar[dict] = {}
    FIELDS: ClassVar[dict] = {}
    # Parts of the filter that its further pages do not keep.
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
        if not self.after:
            return ""
        return filter_url(self.url, self.filter, after=self.after, **self.LEFT_OUT)

    @property
    def chips(self) -> list[Chip]:
        return chips(self.filter, url=self.url, labels=self.LABELS, chats=self.of_chats)

    @property
    def selects(self) -> list[Select]:
        return selects(self.filter, self.FIELDS, chats=self.of_chats)

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
        """Some of a kind are only on the list of that kind."""
        return not self.filter.kind and len(self.rows) < self.found


@dataclass(frozen=True)
class BulkAnswer:
    """What became of what was done to the ticked rows: a sentence, or why it was refused."""

    said: str = ""
    refusal: str = ""
    change_id: UUID | None = None

    @property
    def changed(self) -> bool:
        return self.change_id is not None


def newest_of_each(
    rows: dict[str, QuerySet], wanted: KindFilter, order: Callable[[str], Order]
) -> dict[str, Part]:
    """The first rows of every kind, or a page of the kind that is asked for."""
    if wanted.kind:
        found = part(rows[wanted.kind], order=order(wanted.kind), after=wanted.after)
        return {wanted.kind: found}
    return {kind: part(some, order=order(kind), size=OF_A_KIND) for kind, some in rows.items()}


def views_of(wanted: Filter, url: str, named: Iterable[tuple[str, Filter, int]]) -> list[View]:
    """A tab for each (label, filter, how many rows)."""
    return [
        View(label, filter_url(url, one), capped_number(n), one.query() == wanted.query())
        for label, one, n in named
    ]


def views_by(
    name: str, labels: dict[str, str], numbers: Iterable[int], wanted: Filter, url: str
) -> list[View]:
    """A tab for each choice of one part of the filter."""
    tabs = zip(labels.items(), numbers, strict=True)
    named = ((label, replace(wanted, **{name: key}), n) for (key, label), n in tabs)
    return views_of(wanted, url, named)


def chips(wanted: Filter, *, url: str, labels: dict[str, str], chats: list[Chat]) -> list[Chip]:
    """Return a chip for each value that is not the default, in the order of `labels`."""
    usual = type(wanted)()
    return [
        Chip(
            label,
            shown(wanted, name, chats),
            filter_url(url, wanted, **{name: getattr(usual, name)}),
        )
        for name, label in labels.items()
        if getattr(wanted, name) != getattr(usual, name)
    ]


def shown(wanted: Filter, name: str, chats: list[Chat]) -> str:
    value = getattr(wanted, name)
    if name == "chat":
        return next((text for key, text in chat_choices(chats) if key == value), value)
    if name == "as_of":
        return format_day(wanted.day)
    if name == "month":
        return date_format(date.fromisoformat(f"{value}-01"), "YEAR_MONTH_FORMAT")
    return str(wanted.CHOICES.get(name, {}).get(value, value))


def selects(wanted: Filter, labels: dict[str, str], *, chats: list[Chat]) -> list[Select]:
    """Return a select for each name that has choices."""
    known = {name: list(choices.items()) for name, choices in wanted.CHOICES.items()}
    known |= {
        "chat": [("", _("Everywhere")), *chat_choices(chats)],
        "sort": [*wanted.SORTS.items()],
    }
    return [
        Select(name, label, known[name], getattr(wanted, name))
        for name, label in labels.items()
        if name in known
    ]


def chats_of(space: Space) -> list[Chat]:
    """Return the chats that a filter or a form offers, the most recently used first."""
    known = rows_in(space, Chat).only("title", "key")
    return list(known.order_by("-last_message_at", "-pk")[:CHATS])


def chat_choices(chats: list[Chat]) -> list[tuple[str, str]]:
    return [(HERE, _("The whole space")), *((str(chat.pk), str(chat)) for chat in chats)]


def filter_url(url: str, wanted: Filter, **changes: str) -> str:
    query = wanted.query(**changes)
    return f"{url}?{query}" if query else url


def capped_number(count: int, cap: int = COUNT_LIMIT) -> str:
    """Format a count; "1,000+" when counting stopped at the limit."""
    return f"{number(cap)}+" if count > cap else number(count)


def format_day(day: date | None) -> str:
    return date_format(day, "DATE_FORMAT") if day else ""
