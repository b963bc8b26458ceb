"""The list of facts as a page shows it."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import rows_in
from kenoweb.facts import search as facts_search
from kenoweb.ui import list_page
from kenoweb.ui.filters import FactFilter
from kenoweb.ui.history_thread import rows_at
from kenoweb.ui.list_page import Chip, Select, View
from kenoweb.ui.paging import COUNT_LIMIT, counted, part
from kenoweb.ui.space_urls import space_url
from memory.models import Chat, Fact, Member, Space

NEAR = 6
# No index knows the words of the past: there, counting them stops earlier.
PAST_CAP = 200
# What a chip calls each part of the filter, in this order.
LABELS = {
    "q": gettext_lazy("with"),
    "subject": gettext_lazy("about"),
    "kind": gettext_lazy("kind is"),
    "category": gettext_lazy("category is"),
    "chat": gettext_lazy("in"),
    "status": gettext_lazy("state is"),
    "source": gettext_lazy("source is"),
    "sure": "",
    "since": gettext_lazy("learned"),
    "unused": "",
}
FIELDS = {
    "status": gettext_lazy("State"),
    "kind": gettext_lazy("Kind"),
    "category": gettext_lazy("Category"),
    "chat": gettext_lazy("Where"),
    "source": gettext_lazy("Source"),
    "sure": gettext_lazy("Sure"),
    "since": gettext_lazy("Age"),
    "unused": gettext_lazy("Use"),
    "sort": gettext_lazy("Order"),
}
VIEWS = [
    (gettext_lazy("All"), {}),
    (gettext_lazy("New since yesterday"), {"since": "24h"}),
    (gettext_lazy("Unsure"), {"sure": "low"}),
    (gettext_lazy("Never used"), {"unused": "never"}),
    (gettext_lazy("Forgotten"), {"status": "archived"}),
    (gettext_lazy("Quarantine"), {"status": "quarantined"}),
]
FILTERS = [FactFilter(**values) for _label, values in VIEWS]


@dataclass(frozen=True)
class RowContext:
    """What a row shows beside its fact: the list it is in, and whether it can be changed."""

    url: str
    query: str
    sort: str
    may: bool


@dataclass(frozen=True)
class FactList(list_page.ListPage):
    filter: FactFilter
    rows: list[Fact]
    context: RowContext
    near: list[Fact]
    more: str
    found: int
    views: list[View]
    chips: list[Chip]
    selects: list[Select]
    chats: list[tuple[str, str]]
    nothing_yet: bool
    cap: int = COUNT_LIMIT

    @property
    def url(self) -> str:
        return self.context.url

    @property
    def query(self) -> str:
        return self.context.query

    @property
    def sort(self) -> str:
        return self.context.sort

    @property
    def may(self) -> bool:
        return self.context.may


def row_context(space: Space, wanted: FactFilter, *, member: Member) -> RowContext:
    return RowContext(
        url=space_url("facts:index", space),
        query=wanted.query(),
        sort=wanted.sort,
        may=member.may("curator") and not wanted.when,
    )


def fact_list(space: Space, wanted: FactFilter, *, member: Member, now: datetime) -> FactList:
    context = row_context(space, wanted, member=member)
    url = context.url
    chats = list_page.chats_of(space)
    found = facts_search.find(space, wanted, now=now)
    found = found.select_related("chat") if wanted.when else facts_search.for_rows(found)
    page = part(found, order=facts_search.order(wanted), after=wanted.after)
    rows = rows_at(Fact, page.rows) if wanted.when else page.rows
    # What fits on one page has been counted by reading it.
    every, cap = [], PAST_CAP if wanted.when and wanted.q else COUNT_LIMIT
    if page.after or wanted.after:
        every = [facts_search.find(space, wanted, now=now)]
    asked = _views_of(space, now=now)[: 1 if wanted.when else None]
    numbers = counted(*asked, *every, cap=cap, indexed=bool(wanted.q))
    of_views = numbers[1 : len(asked)]
    return FactList(
        filter=wanted,
        rows=rows,
        context=context,
        near=[] if page.after or wanted.after else _near(space, wanted, rows, now=now),
        more=list_page.filter_url(url, wanted, after=page.after) if page.after else "",
        found=numbers[-1] if every else len(rows),
        views=[
            View(
                label,
                list_page.filter_url(url, one),
                list_page.capped_number(n),
                current=one.query() == wanted.query(),
            )
            for (label, _values), one, n in zip(VIEWS, FILTERS, of_views, strict=False)
        ],
        chips=list_page.chips(wanted, url=url, labels=LABELS, chats=chats),
        selects=list_page.selects(wanted, FIELDS, chats=chats),
        chats=list_page.chat_choices(chats),
        nothing_yet=not numbers[0],
        cap=cap,
    )


def _views_of(space: Space, *, now: datetime) -> list[QuerySet]:
    """All facts, and those of each view."""
    views = (facts_search.find(space, one, now=now) for one in FILTERS)
    return [rows_in(space, Fact), *views]


def _near(space: Space, wanted: FactFilter, rows: list[Fact], *, now: datetime) -> list[Fact]:
    """What only means it, after the last that says it."""
    shown = {fact.pk for fact in rows}
    found = facts_search.near(space, wanted, now=now)
    return [fact for fact in found if fact.pk not in shown][:NEAR]


def as_markdown(rows: list[Fact]) -> str:
    """A list for people and models: one line a fact, with its subject."""
    return "".join(
        f"- {f'{_subject(fact)}: ' if fact.subject else ''}{fact.text}\n" for fact in rows
    )


def _subject(fact: Fact) -> str:
    return _("Lore") if fact.subject == Fact.LORE else fact.subject


def matching(
    space: Space, wanted: FactFilter, *, now: datetime, most: int = COUNT_LIMIT
) -> list[Fact]:
    """The first facts of the list in its order."""
    rows = facts_search.find(space, wanted, now=now).order_by(*facts_search.order(wanted).names)
    found = list(rows[:most])
    return rows_at(Fact, found) if wanted.when else found


def chat_of(space: Space, key: str) -> Chat | None:
    """The chat of a choice; None is the whole space, and what does not exist is not found."""
    return rows_in(space, Chat).get(pk=int(key)) if key.isdigit() else None
