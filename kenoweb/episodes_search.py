"""Which episodes a list shows: the one place where a filter becomes a query."""

from datetime import date, datetime, timedelta

from django.db.models import Q, QuerySet

from kenoweb import words
from kenoweb.access import things
from kenoweb.filters import EpisodeFilter, in_chat
from kenoweb.paging import Order
from kenoweb.trends import day_start
from kenoweb.words import Away, Looked, having, letters, words_of
from memory import history
from memory.models import Episode, Space

Status = Episode.Status
STATES = {
    "": Q(),
    "open": Q(status=Status.OPEN),
    "waiting": Q(status=Status.CLOSED, consolidated_at=None),
    "done": Q(status=Status.CLOSED, consolidated_at__isnull=False),
    "archived": Q(status=Status.ARCHIVED),
    "discarded": Q(status=Status.DISCARDED),
}
# As the index episode_words_away has it: these have no words in a unit.
AWAY = Away(
    Q(status__in=[Status.ARCHIVED, Status.DISCARDED]) | ~Q(flags=[]),
    words_of("memory_episode.title || ' ' || memory_episode.body"),
    ("title", "body"),
)


def find(space: Space, wanted: EpisodeFilter, *, looked: Looked | None = None) -> QuerySet:
    """The episodes that the filter describes. As events when it asks for a day."""
    if wanted.when:
        rows = history.as_of(things(space, Episode), wanted.when)
        # What was written later about an earlier time was not known then: both must be past.
        rows = rows.filter(space=space, started_at__lte=wanted.when)
    else:
        rows = things(space, Episode)
    rows = _filtered(rows, wanted)
    if not wanted.q:
        return rows
    if wanted.when:
        return rows.filter(letters(wanted.q, *AWAY.fields))
    return having(rows, space=space, looked=looked, **_by_words(wanted))


def to_count(space: Space, wanted: EpisodeFilter, *, looked: Looked | None = None) -> QuerySet:
    """What find() finds, the fastest way to count it."""
    if not wanted.q or wanted.when:
        return find(space, wanted)
    rows = _filtered(things(space, Episode), wanted)
    return words.to_count(rows, space=space, looked=looked, **_by_words(wanted))


def _by_words(wanted: EpisodeFilter) -> dict:
    # Others than those may be set aside as well, and then have no unit.
    live = False if wanted.state in {"archived", "discarded"} else None
    return {"kind": "episode", "said": wanted.q, "away": AWAY, "live": live}


def _filtered(rows: QuerySet, wanted: EpisodeFilter) -> QuerySet:
    rows = rows.filter(STATES[wanted.state], in_chat(wanted.chat), in_month(wanted.month))
    if wanted.tag:
        rows = rows.filter(tags__contains=[wanted.tag])
    if wanted.who:
        rows = rows.filter(participants__contains=[wanted.who])
    return rows.filter(feedback=wanted.feedback) if wanted.feedback else rows


def order(wanted: EpisodeFilter) -> Order:
    return Order("started_at", key="pgh_obj_id" if wanted.when else "pk")


def in_month(month: str) -> Q:
    """From its first moment to that of the next, on the clock of the space."""
    if not month:
        return Q()
    first = date.fromisoformat(f"{month}-01")
    after = (first + timedelta(days=32)).replace(day=1)
    return Q(started_at__gte=day_start(first), started_at__lt=day_start(after))


def last_months(count: int, *, today: date) -> list[date]:
    """The first days of this month and of those before it."""
    first, found = today.replace(day=1), []
    for _month in range(count):
        found.append(first)
        first = (first - timedelta(days=1)).replace(day=1)
    return found


def days_left(gone_at: datetime | None, *, keeps: int, now: datetime) -> int:
    """Days until the trash lets go of it, each begun one counted; 0 when it is about to."""
    if gone_at is None:
        return keeps
    return max(0, -((now - gone_at - timedelta(days=keeps)) // timedelta(days=1)))
