"""Which facts a list shows: the one place where a filter becomes a query."""

from datetime import UTC, datetime

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Coalesce

from kenoweb.access import things
from kenoweb.filters import SURE, FactFilter, in_chat, of_age
from kenoweb.paging import Order
from kenoweb.words import letters, matches, spoken, units
from memory import history
from memory.models import Fact, Space

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
USED = Coalesce("last_used_at", Value(NEVER))
# As the index fact_words_away has it: only what is live has its words in a unit.
WORDS = "keno_words(text || ' ' || quote || ' ' || subject, language)"
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
        rows = history.as_of(things(space, Fact), wanted.when)
    else:
        rows = things(space, Fact).annotate(used_at=USED)
    rows = rows.filter(_fields(wanted, now=wanted.when or now))
    if wanted.unused and not wanted.when:
        rows = rows.filter(_unused(wanted.unused, now=now))
    return _having(rows, space, wanted) if wanted.q else rows


def order(wanted: FactFilter) -> Order:
    found = ORDERS[wanted.sort]
    if not wanted.when:
        return found
    # Uses are not part of history; a row of then is known by the row of now.
    field = "updated_at" if found.field == "used_at" else found.field
    return Order(field, found.type, found.down, key="pgh_obj_id")


def as_they_were(events: list) -> list[Fact]:
    """Facts of another day, to be shown and never to be saved."""
    names = [field.attname for field in Fact._meta.fields]
    return [_as_it_was(event, names) for event in events]


def _as_it_was(event: object, names: list[str]) -> Fact:
    known = {name: getattr(event, name) for name in names if hasattr(event, name)}
    fact = Fact(**known | {"id": event.pgh_obj_id})
    if event.chat_id:
        fact.chat = event.chat
    return fact


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


def _having(rows: QuerySet, space: Space, wanted: FactFilter) -> QuerySet:
    """With these words in it: by the word index where there is one, else letter by letter."""
    asked = spoken(wanted.q)
    if wanted.when or not asked:
        return rows.filter(letters(wanted.q, "text", "subject", "quote"))
    live = units(space, "fact", asked)
    if wanted.status == Fact.Status.ACTIVE:
        return rows.filter(pk__in=live)
    away = things(space, Fact).exclude(status=Fact.Status.ACTIVE).filter(matches(WORDS, asked))
    if wanted.status != "any":
        return rows.filter(pk__in=away.values_list("pk"))
    return rows.filter(pk__in=live.union(away.values_list("pk"), all=True))
