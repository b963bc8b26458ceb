"""What was believed when: the wordings of one fact and of those it followed, with their times."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.apps import apps
from django.db import connection

from memory.models import Fact

MAX_FACTS = 200
# How many facts may follow each other: a longer chain is cut, never an endless one.
DEEP = 20
CHAIN = """
WITH RECURSIVE later (id, n) AS (
  SELECT %(pk)s::bigint, 0
  UNION ALL
  SELECT f.superseded_by_id, n + 1 FROM memory_fact f JOIN later ON f.id = later.id
  WHERE f.superseded_by_id IS NOT NULL AND n < %(deep)s
), earlier (id, n) AS (
  SELECT %(pk)s::bigint, 0
  UNION ALL
  SELECT f.id, n + 1 FROM memory_fact f JOIN earlier ON f.superseded_by_id = earlier.id
  WHERE n < %(deep)s
)
SELECT id FROM (SELECT id FROM later UNION SELECT id FROM earlier) AS chain LIMIT %(most)s
"""


@dataclass(frozen=True)
class Belief:
    """One wording and the time in which it held; no end means that it holds now."""

    fact: int
    text: str
    language: str
    start: datetime
    end: datetime | None = None


def timeline(fact: Fact) -> list[Belief]:
    """Newest first. One line alone says nothing new and is left to the page."""
    with connection.cursor() as cursor:
        cursor.execute(CHAIN, {"pk": fact.pk, "deep": DEEP, "most": DEEP * 2})
        chain = [pk for (pk,) in cursor.fetchall()]
    # Another space can never be in the chain, and if it were it would not be shown.
    events = apps.get_model("memory", "FactEvent").objects.filter(
        pgh_obj_id__in=chain, space=fact.space_id
    )
    return periods(events.order_by("pgh_obj_id", "pgh_id")[:MAX_FACTS])


def periods(events: Iterable) -> list[Belief]:
    """The times in which a wording was live; expects the events of a fact in their order."""
    found: list[Belief] = []
    open_: Belief | None = None
    for event in events:
        if open_ and open_.fact != event.pgh_obj_id:
            found.append(open_)
            open_ = None
        if open_ and (event.status != "active" or event.text != open_.text):
            found.append(replace(open_, end=_end(event, open_)))
            open_ = None
        if event.status == "active" and open_ is None:
            open_ = Belief(event.pgh_obj_id, event.text, event.language, _start(event, found))
    if open_:
        found.append(open_)
    return sorted(found, key=lambda one: one.start, reverse=True)


def _start(event: object, found: list[Belief]) -> datetime:
    """Since it is true, if somebody said since when; else since it was learned."""
    again = any(one.fact == event.pgh_obj_id for one in found)
    return event.pgh_created_at if again else event.valid_from or event.created_at


def _end(event: object, belief: Belief) -> datetime:
    over = event.valid_to if event.status != "active" and event.valid_to else event.pgh_created_at
    return max(over, belief.start)
