"""Which episodes a list shows: the one place where a filter becomes a query."""

from datetime import date, datetime, timedelta

from django.db.models import Q, QuerySet

from kenoweb.auth.access import rows_in
from kenoweb.ui.daily_counts import day_start
from kenoweb.ui.filters import EpisodeFilter, in_chat
from kenoweb.ui.paging import Order
from kenoweb.ui.text_search import UnindexedText, filter_by_text, substring_filter, words_of
from memory.history import changes as history
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
# As the index episode_words_away has it: these episodes have no unit.
UNINDEXED = UnindexedText(
    Q(status__in=[Status.ARCHIVED, Status.DISCARDED]) | ~Q(flags=[]),
    words_of("memory_episode.title || ' ' || memory_episode.body"),
    ("title", "body"),
)


def find(space: Space, wanted: EpisodeFilter) -> QuerySet:
    """The episodes that the filter describes. As events when it asks for a day."""
    if wanted.when:
        rows = history.as_of(rows_in(space, Episode), wanted.when)
        # What was written later about an earlier time was not known then: both must be past.
        rows = rows.filter(space=space, started_at__lte=wanted.when)
    else:
        rows = rows_in(space, Episode)
    rows = _filtered(rows, wanted)
    if not wanted.q:
        return rows
    if wanted.when:
        return rows.filter(substring_filter(wanted.q, *UNINDEXED.fields))
    # Episodes of any other state may be in quarantine, and then have no unit either.
    live = False if wanted.state in {"archived", "discarded"} else None
    return filter_by_text(
        rows, wanted.q, space=space, kind="episode", unindexed=UNINDEXED, live=live
    )


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
