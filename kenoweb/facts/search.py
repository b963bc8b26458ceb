"""Which facts a list shows: the one place where a filter becomes a query."""

from dataclasses import replace
from datetime import datetime

from django.db.models import Q, QuerySet

from kenoweb.auth.access import rows_in
from kenoweb.ui.filters import SURE, FactFilter, in_chat, of_age
from kenoweb.ui.paging import Order
from kenoweb.ui.text_search import (
    UnindexedText,
    filter_by_text,
    near_words,
    substring_filter,
    words_of,
)
from memory.history import changes as history
from memory.models import Fact, Space
from memory.models.fact import USED_AT

# As the index fact_words_away has it: only live facts have a unit.
UNINDEXED = UnindexedText(
    ~Q(status=Fact.Status.ACTIVE),
    words_of("memory_fact.text || ' ' || memory_fact.quote || ' ' || memory_fact.subject"),
    ("text", "subject", "quote"),
)
NEAR = 12
ROW_FIELDS = (
    *("text", "language", "subject", "confidence", "pinned", "status", "source", "written_by"),
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


def find(space: Space, wanted: FactFilter, *, now: datetime) -> QuerySet:
    """The facts that the filter describes, not yet in order. As events when it asks for a day."""
    if wanted.when:
        # The space is said twice: the first is known of the rows, the second of their index.
        rows = history.as_of(rows_in(space, Fact), wanted.when).filter(space=space)
    else:
        rows = rows_in(space, Fact).annotate(used_at=USED_AT)
    rows = _filtered(rows, wanted, now=now)
    if not wanted.q:
        return rows
    if wanted.when:
        return rows.filter(substring_filter(wanted.q, *UNINDEXED.fields))
    live = {"any": None, Fact.Status.ACTIVE: True}.get(wanted.status, False)
    return filter_by_text(rows, wanted.q, space=space, kind="fact", unindexed=UNINDEXED, live=live)


def _filtered(rows: QuerySet, wanted: FactFilter, *, now: datetime) -> QuerySet:
    rows = rows.filter(_fields(wanted, now=wanted.when or now))
    if wanted.unused and not wanted.when:
        rows = rows.filter(_unused(wanted.unused, now=now))
    return rows


def near(space: Space, wanted: FactFilter, *, now: datetime) -> list[Fact]:
    """Facts that mean what the words say without having them, the nearest first."""
    if not wanted.q or wanted.when or wanted.status != Fact.Status.ACTIVE:
        return []
    scores = near_words(space, "fact", wanted.q, most=NEAR)
    found = find(space, replace(wanted, q=""), now=now).filter(pk__in=scores)
    return sorted(for_rows(found), key=lambda fact: -scores[fact.pk])


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
    if wanted.status != "any":
        plain["status"] = wanted.status
    if wanted.subject:
        plain["subject"] = wanted.subject
    sure = SURE[wanted.sure][1] if wanted.sure else Q()
    return (
        Q(**plain) & sure & in_chat(wanted.chat) & of_age(wanted.since, field="created_at", now=now)
    )


def _unused(unused: str, *, now: datetime) -> Q:
    never = Q(last_used_at=None)
    return (
        never if unused == "never" else never | of_age("older-90d", field="last_used_at", now=now)
    )
