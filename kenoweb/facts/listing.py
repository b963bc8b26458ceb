"""The list of facts as a page shows it."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar, NamedTuple

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy, pgettext_lazy

from kenoweb.auth.access import rows_in
from kenoweb.ui import list_page
from kenoweb.ui.filters import SURE, FactFilter, held_at, in_chat, of_age
from kenoweb.ui.formatting import about
from kenoweb.ui.history_thread import rows_at
from kenoweb.ui.list_page import COUNT_LIMIT, Order, counted, part
from kenoweb.ui.responses import space_url
from kenoweb.ui.text_search import (
    UnindexedText,
    filter_by_text,
    near_words,
    substring_filter,
    words_of,
)
from memory.history import changes as history
from memory.models import Chat, Fact, Member, Space
from memory.models.fact import USED_AT

# As the index fact_words_away has it: only live facts have a unit.
UNINDEXED = UnindexedText(
    ~Q(status=Fact.Status.ACTIVE),
    words_of("memory_fact.text || ' ' || memory_fact.quote || ' ' || memory_fact.subject"),
    ("text", "subject", "quote"),
)
MAX_NEAR_READ = 12
ROW_FIELDS = (
    *("text", "language", "subject", "confidence", "pinned", "status", "source", "written_by"),
    *("tags", "said_by"),
    *("created_at", "updated_at", "last_used_at", "chat__title", "chat__key"),
)
ORDERS = {
    "": Order("updated_at"),
    "new": Order("created_at"),
    "used": Order("used_at"),
    "sure": Order("confidence", float),
    "unsure": Order("confidence", float, down=False),
    "subject": Order("subject", str, down=False),
}
MAX_NEAR = 6
# No index knows the words of the past: there, counting them stops earlier.
PAST_COUNT_LIMIT = 200
TABS = [
    (gettext_lazy("All"), FactFilter()),
    (gettext_lazy("New since yesterday"), FactFilter(since="24h")),
    (gettext_lazy("Unsure"), FactFilter(sure="low")),
    (gettext_lazy("Never used"), FactFilter(unused="never")),
    (pgettext_lazy("facts", "Forgotten"), FactFilter(status="archived")),
    (gettext_lazy("Quarantine"), FactFilter(status="quarantined")),
]


def find(space: Space, filters: FactFilter, *, now: datetime) -> QuerySet:
    """Return the facts that match, unordered. As events when the filter asks for a day."""
    if filters.when:
        # The space is named twice: the first limits the rows, the second the index on the events.
        rows = history.as_of(rows_in(space, Fact), filters.when).filter(space=space)
    else:
        rows = rows_in(space, Fact).annotate(used_at=USED_AT)
    rows = rows.filter(_conditions(filters, now=filters.when or now))
    if filters.unused and not filters.when:
        rows = rows.filter(_is_unused(filters.unused, now=now))
    if not filters.q:
        return rows
    if filters.when:
        return rows.filter(substring_filter(filters.q, *UNINDEXED.fields))
    live = {"any": None, Fact.Status.ACTIVE: True}.get(filters.status, False)
    live = None if filters.holds_at else live
    return filter_by_text(rows, filters.q, space=space, kind="fact", unindexed=UNINDEXED, live=live)


def near(space: Space, filters: FactFilter, rows: list[Fact], *, now: datetime) -> list[Fact]:
    """Return facts that mean what the words say without having them, the nearest first."""
    is_past = filters.when or filters.holds_at
    if not filters.q or is_past or filters.status != Fact.Status.ACTIVE:
        return []
    scores = near_words(space, "fact", filters.q, most=MAX_NEAR_READ)
    others = find(space, replace(filters, q=""), now=now).filter(pk__in=scores)
    others = others.exclude(pk__in=[fact.pk for fact in rows])
    return sorted(for_rows(others), key=lambda fact: -scores[fact.pk])[:MAX_NEAR]


def for_rows(rows: QuerySet) -> QuerySet:
    """Read only what a row of the list shows: all of a fact takes three times as long."""
    return rows.select_related("chat").only(*ROW_FIELDS)


def order(filters: FactFilter) -> Order:
    # The past has one order: an event is identified by the row it belongs to.
    if filters.when:
        return Order("pgh_created_at", key="pgh_obj_id")
    return ORDERS[filters.sort or ("new" if filters.since else "")]


def _conditions(filters: FactFilter, *, now: datetime) -> Q:
    names = ("kind", "category", "source", "subject")
    plain = {name: value for name in names if (value := getattr(filters, name))}
    if filters.holds_at is None and filters.status != "any":
        plain["status"] = filters.status
    if filters.tag:
        plain["tags__contains"] = [filters.tag.casefold()]
    return (
        Q(**plain)
        & (held_at(filters.holds_at) if filters.holds_at else Q())
        & (SURE[filters.sure][1] if filters.sure else Q())
        & in_chat(filters.chat)
        & of_age(filters.since, field="created_at", now=now)
    )


def _is_unused(unused: str, *, now: datetime) -> Q:
    never = Q(last_used_at=None)
    if unused == "never":
        return never
    return never | of_age("older-90d", field="last_used_at", now=now)


class Head(NamedTuple):
    """The head of a column: the URL that sorts by it, and how it is sorted now."""

    url: str
    direction: str


@dataclass(frozen=True, kw_only=True)
class FactList(list_page.ListPage):
    LABELS: ClassVar = {
        "q": gettext_lazy("with"),
        "subject": gettext_lazy("about"),
        "tag": gettext_lazy("tagged"),
        "kind": gettext_lazy("kind is"),
        "category": gettext_lazy("category is"),
        "chat": gettext_lazy("in"),
        "valid_at": gettext_lazy("true on"),
        "status": gettext_lazy("state is"),
        "source": gettext_lazy("source is"),
        "sure": "",
        "since": gettext_lazy("learned"),
        "unused": "",
    }
    FIELDS: ClassVar = {
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

    near: list[Fact] = field(default_factory=list)

    @property
    def heads(self) -> dict[str, Head]:
        """Return the sortable columns; a second click on Sure turns the order round."""
        sort = self.filter.sort
        surest = "unsure" if sort == "sure" else "sure"
        targets = {"subject": "subject", "sure": surest, "when": ""}
        directions = {"subject": "ascending", "sure": "descending", "unsure": "ascending"}
        current = {"subject": "subject", "sure": "sure", "unsure": "sure"}.get(sort, "when")
        return {
            column: Head(
                list_page.filter_url(self.url, self.filter, sort=target, after=""),
                directions.get(sort, "descending") if column == current else "",
            )
            for column, target in targets.items()
        }

    @property
    def sort(self) -> str:
        return self.filter.sort

    @property
    def chats(self) -> list[tuple[str, str]]:
        return list_page.chat_choices(self.of_chats)


def list_context(space: Space, filters: FactFilter, *, member: Member) -> dict:
    """Return what a row has to know of its list: where it is, and whether it can be changed."""
    may = member.may("curator") and not filters.when
    return {"filter": filters, "url": space_url("facts:index", space), "may": may}


def fact_list(space: Space, filters: FactFilter, *, member: Member, now: datetime) -> FactList:
    matches = find(space, filters, now=now)
    matches = matches.select_related("chat") if filters.when else for_rows(matches)
    page = part(matches, order=order(filters), after=filters.after)
    rows = rows_at(Fact, page.rows) if filters.when else page.rows
    is_whole = not (page.after or filters.after)
    cap = PAST_COUNT_LIMIT if filters.when and filters.q else COUNT_LIMIT
    tabs = [] if filters.when else TABS
    queries = [rows_in(space, Fact), *(find(space, tab, now=now) for _label, tab in tabs)]
    if not is_whole:  # what fits on one page has been counted by reading it
        queries.append(find(space, filters, now=now))
    total, *numbers = counted(*queries, cap=cap, indexed=bool(filters.q))
    context = list_context(space, filters, member=member)
    views = [(*tab, n) for tab, n in zip(tabs, numbers, strict=False)]
    return FactList(
        **context,
        rows=rows,
        near=near(space, filters, rows, now=now) if is_whole else [],
        after=page.after,
        found=len(rows) if is_whole else numbers[-1],
        views=list_page.views_of(filters, context["url"], views),
        of_chats=list_page.chats_of(space),
        nothing_yet=not total,
        cap=cap,
    )


def as_markdown(rows: list[Fact]) -> str:
    """A list for people and models: one line a fact, with its subject."""
    return "".join(
        f"- {f'{about(fact.subject)}: ' if fact.subject else ''}{fact.text}\n" for fact in rows
    )


def matching(space: Space, filters: FactFilter, *, now: datetime) -> list[Fact]:
    """Return the first facts of the list in its order."""
    rows = list(find(space, filters, now=now).order_by(*order(filters).names)[:COUNT_LIMIT])
    return rows_at(Fact, rows) if filters.when else rows


def chat_of(space: Space, key: str) -> Chat | None:
    """Return the chat of a form's choice; None is the whole space."""
    return rows_in(space, Chat).get(pk=int(key)) if key.isdigit() else None
