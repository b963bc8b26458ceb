"""The list of facts as a page shows it."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar

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
MOST_NEAR = 12
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
NEAR = 6
# No index knows the words of the past: there, counting them stops earlier.
PAST_CAP = 200
VIEWS = [
    (gettext_lazy("All"), {}),
    (gettext_lazy("New since yesterday"), {"since": "24h"}),
    (gettext_lazy("Unsure"), {"sure": "low"}),
    (gettext_lazy("Never used"), {"unused": "never"}),
    (pgettext_lazy("facts", "Forgotten"), {"status": "archived"}),
    (gettext_lazy("Quarantine"), {"status": "quarantined"}),
]
FILTERS = [FactFilter(**values) for _label, values in VIEWS]


def find(space: Space, wanted: FactFilter, *, now: datetime) -> QuerySet:
    """The facts that the filter describes, not yet in order. As events when it asks for a day."""
    if wanted.when:
        # The space is said twice: the first is known of the rows, the second of their index.
        rows = history.as_of(rows_in(space, Fact), wanted.when).filter(space=space)
    else:
        rows = rows_in(space, Fact).annotate(used_at=USED_AT)
    rows = rows.filter(_fields(wanted, now=wanted.when or now))
    if wanted.unused and not wanted.when:
        rows = rows.filter(_unused(wanted.unused, now=now))
    if not wanted.q:
        return rows
    if wanted.when:
        return rows.filter(substring_filter(wanted.q, *UNINDEXED.fields))
    live = {"any": None, Fact.Status.ACTIVE: True}.get(wanted.status, False)
    live = None if wanted.holds_at else live
    return filter_by_text(rows, wanted.q, space=space, kind="fact", unindexed=UNINDEXED, live=live)


def near(space: Space, wanted: FactFilter, rows: list[Fact], *, now: datetime) -> list[Fact]:
    """What means what the words say without having them, the nearest first, beside these rows."""
    if not wanted.q or wanted.when or wanted.holds_at or wanted.status != Fact.Status.ACTIVE:
        return []
    scores = near_words(space, "fact", wanted.q, most=MOST_NEAR)
    found = find(space, replace(wanted, q=""), now=now).filter(pk__in=scores)
    found = found.exclude(pk__in=[fact.pk for fact in rows])
    return sorted(for_rows(found), key=lambda fact: -scores[fact.pk])[:NEAR]


def for_rows(rows: QuerySet) -> QuerySet:
    """With what a row of the list shows: to read all of a fact takes three times as long."""
    return rows.select_related("chat").only(*ROW_FIELDS)


def order(wanted: FactFilter) -> Order:
    # The past has one order: a row of then is known by the row of now.
    if wanted.when:
        return Order("pgh_created_at", key="pgh_obj_id")
    return ORDERS[wanted.sort or ("new" if wanted.since else "")]


def _fields(wanted: FactFilter, *, now: datetime) -> Q:
    plain = {
        name: value for name in ("kind", "category", "source") if (value := getattr(wanted, name))
    }
    if wanted.holds_at is None and wanted.status != "any":
        plain["status"] = wanted.status
    if wanted.subject:
        plain["subject"] = wanted.subject
    if wanted.tag:
        plain["tags__contains"] = [wanted.tag.casefold()]
    sure = SURE[wanted.sure][1] if wanted.sure else Q()
    held = held_at(wanted.holds_at) if wanted.holds_at else Q()
    return (
        Q(**plain)
        & held
        & sure
        & in_chat(wanted.chat)
        & of_age(wanted.since, field="created_at", now=now)
    )


def _unused(unused: str, *, now: datetime) -> Q:
    never = Q(last_used_at=None)
    return (
        never if unused == "never" else never | of_age("older-90d", field="last_used_at", now=now)
    )


@dataclass(frozen=True)
class Head:
    """The head of a column: where a click on it leads, and how the list is sorted by it now."""

    url: str
    direction: str = ""


def heads(wanted: FactFilter, *, url: str) -> dict[str, Head]:
    """The columns by which the list can be sorted; a second click on Sure turns it round."""
    directions = {"subject": "ascending", "sure": "descending", "unsure": "ascending"}
    by = {"subject": "subject", "sure": "sure", "unsure": "sure"}.get(wanted.sort, "when")
    surest = "unsure" if wanted.sort == "sure" else "sure"
    turns = {"subject": "subject", "sure": surest, "when": ""}
    return {
        column: Head(
            list_page.filter_url(url, wanted, sort=sort, after=""),
            directions.get(wanted.sort, "descending") if column == by else "",
        )
        for column, sort in turns.items()
    }


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
        return heads(self.filter, url=self.url)

    @property
    def sort(self) -> str:
        return self.filter.sort

    @property
    def chats(self) -> list[tuple[str, str]]:
        return list_page.chat_choices(self.of_chats)


def around(space: Space, wanted: FactFilter, *, member: Member) -> dict:
    """What a row has to know of its list: where it is, and whether its rows can be changed."""
    may = member.may("curator") and not wanted.when
    return {"filter": wanted, "url": space_url("facts:index", space), "may": may}


def fact_list(space: Space, wanted: FactFilter, *, member: Member, now: datetime) -> FactList:
    found = find(space, wanted, now=now)
    found = found.select_related("chat") if wanted.when else for_rows(found)
    page = part(found, order=order(wanted), after=wanted.after)
    rows = rows_at(Fact, page.rows) if wanted.when else page.rows
    is_whole = not (page.after or wanted.after)
    # What fits on one page has been counted by reading it.
    every, cap = [], PAST_CAP if wanted.when and wanted.q else COUNT_LIMIT
    if not is_whole:
        every = [find(space, wanted, now=now)]
    asked = [rows_in(space, Fact)]
    if not wanted.when:
        asked += [find(space, one, now=now) for one in FILTERS]
    numbers = counted(*asked, *every, cap=cap, indexed=bool(wanted.q))
    given = around(space, wanted, member=member)
    labels = (label for label, _values in VIEWS)
    tabs = zip(labels, FILTERS, numbers[1 : len(asked)], strict=False)
    return FactList(
        **given,
        rows=rows,
        near=near(space, wanted, rows, now=now) if is_whole else [],
        after=page.after,
        found=numbers[-1] if every else len(rows),
        views=list_page.views_of(wanted, given["url"], tabs),
        of_chats=list_page.chats_of(space),
        nothing_yet=not numbers[0],
        cap=cap,
    )


def as_markdown(rows: list[Fact]) -> str:
    """A list for people and models: one line a fact, with its subject."""
    return "".join(
        f"- {f'{about(fact.subject)}: ' if fact.subject else ''}{fact.text}\n" for fact in rows
    )


def matching(
    space: Space, wanted: FactFilter, *, now: datetime, most: int = COUNT_LIMIT
) -> list[Fact]:
    """The first facts of the list in its order."""
    rows = find(space, wanted, now=now).order_by(*order(wanted).names)
    found = list(rows[:most])
    return rows_at(Fact, found) if wanted.when else found


def chat_of(space: Space, key: str) -> Chat | None:
    """The chat of a choice; None is the whole space, and what does not exist is not found."""
    return rows_in(space, Chat).get(pk=int(key)) if key.isdigit() else None
