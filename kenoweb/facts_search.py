"""Which facts a list shows: the one place where a filter becomes a query."""

from dataclasses import replace
from datetime import datetime

from django.db.models import Q, QuerySet

from kenoweb import words
from kenoweb.access import things
from kenoweb.filters import SURE, FactFilter, in_chat, of_age
from kenoweb.meaning import near_words
from kenoweb.paging import Order
from kenoweb.words import Away, Looked, having, letters, words_of
from memory import history
from memory.models import Fact, Space
from memory.models.fact import USED_AT

# As the index fact_words_away has it: only what is live has its words in a unit.
AWAY = Away(
    ~Q(status=Fact.Status.ACTIVE),
    words_of("memory_fact.text || ' ' || memory_fact.quote || ' ' || memory_fact.subject"),
    ("text", "subject", "quote"),
)
NEAR = 12
SHOWN = (
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


def find(
    space: Space, wanted: FactFilter, *, now: datetime, looked: Looked | None = None
) -> QuerySet:
    """The facts that the filter describes, not yet in order. As events when it asks for a day."""
    if wanted.when:
        # The space is said twice: the first is known of the rows, the second of their index.
        rows = history.as_of(things(space, Fact), wanted.when).filter(space=space)
    else:
        rows = things(space, Fact).annotate(used_at=USED_AT)
    rows = _filtered(rows, wanted, now=now)
    if not wanted.q:
        return rows
    if wanted.when:
        return rows.filter(letters(wanted.q, *AWAY.fields))
    return having(rows, space=space, said=wanted.q, looked=looked, **_by_words(wanted))


def to_count(
    space: Space, wanted: FactFilter, *, now: datetime, looked: Looked | None = None
) -> QuerySet:
    """What find() finds, the fastest way to count it."""
    if not wanted.q or wanted.when:
        return find(space, wanted, now=now)
    rows = _filtered(things(space, Fact), wanted, now=now)
    return words.to_count(rows, space=space, said=wanted.q, looked=looked, **_by_words(wanted))


def _filtered(rows: QuerySet, wanted: FactFilter, *, now: datetime) -> QuerySet:
    rows = rows.filter(_fields(wanted, now=wanted.when or now))
    if wanted.unused and not wanted.when:
        rows = rows.filter(_unused(wanted.unused, now=now))
    return rows


def _by_words(wanted: FactFilter) -> dict:
    live = {"any": None, Fact.Status.ACTIVE: True}.get(wanted.status, False)
    return {"kind": "fact", "away": AWAY, "live": live}


def near(space: Space, wanted: FactFilter, *, now: datetime) -> list[Fact]:
    """Facts that mean what the words say without having them, the nearest first."""
    if not wanted.q or wanted.when or wanted.status != Fact.Status.ACTIVE:
        return []
    scores = near_words(space, "fact", wanted.q, most=NEAR)
    found = find(space, replace(wanted, q=""), now=now).filter(pk__in=scores)
    return sorted(shown(found), key=lambda fact: -scores[fact.pk])


def shown(rows: QuerySet) -> QuerySet:
    """With what a row of the list shows: to read all of a fact takes three times as long."""
    return rows.select_related("chat").only(*SHOWN)


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
