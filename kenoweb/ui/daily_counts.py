"""Counts over days, in the clock of the space."""

import datetime as dt
from itertools import accumulate

from django.core.cache import cache
from django.db.models import Aggregate, Count, F, FloatField, QuerySet, Value
from django.db.models.functions import Cast, Greatest, TruncDate
from django.utils.formats import number_format
from django.utils.timezone import get_current_timezone
from django.utils.translation import ngettext

from kenoweb.auth.access import rows_in
from kenoweb.ui import charts
from kenoweb.ui.formatting import dated
from memory.models import Episode, Fact, Message, Space

# The long charts move slowly; the figures above them are always fresh.
CACHE_SECONDS = 120


def day_start(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), get_current_timezone())


def per_day(rows: QuerySet, field: str, *, end: dt.date, days: int) -> dict[dt.date, int]:
    """How many rows each of the last days up to `end` had."""
    return per_day_each({"": (rows, field, Count("pk"))}, end=end, days=days)[""]


def per_day_each(
    asked: dict[str, tuple[QuerySet, str, Aggregate]],
    *,
    end: dt.date,
    days: int,
    older: bool = False,
) -> dict[str, dict[dt.date, float]]:
    """{name: {day: number}} of several kinds of rows, each by its own field, in one query.

    With `older`, what lies before the first day is counted as of the day before it.
    """
    first = day_start(end - dt.timedelta(days=days - 1))
    parts = [
        _by_day(name, rows, field, counted, first=first, older=older)
        for name, (rows, field, counted) in asked.items()
    ]
    found: dict[str, dict] = {name: {} for name in asked}
    for name, day, count in parts[0].union(*parts[1:], all=True) if parts[1:] else parts[0]:
        is_count = isinstance(asked[name][2], Count)
        found[name][day] = int(count) if is_count else count
    return found


def _by_day(name, rows, field, counted, *, first: dt.datetime, older: bool) -> QuerySet:
    at = Greatest(field, Value(first - dt.timedelta(days=1))) if older else F(field)
    rows = rows if older else rows.filter(**{f"{field}__gte": first})
    named = rows.order_by().annotate(name=Value(name), day=TruncDate(at)).values_list("name", "day")
    # A union has one type for all its numbers.
    return named.annotate(number=Cast(counted, FloatField()))


def series(counts: dict, *, end: dt.date, days: int) -> list[tuple[str, float]]:
    """One (name of the day, number) for every day, also the empty ones."""
    line = [end - dt.timedelta(days=back) for back in range(days - 1, -1, -1)]
    return [(dated(day, "SHORT_DATE_FORMAT"), counts.get(day, 0)) for day in line]


def growth(space: Space, *, today: dt.date, days: int = 90) -> charts.Growth | None:
    """What Keno knows today, by the day on which it learned it."""

    def count() -> tuple[list[int], list[int]]:
        facts = rows_in(space, Fact).filter(status=Fact.Status.ACTIVE)
        episodes = rows_in(space, Episode).filter(status__in=Episode.REMEMBERED)
        asked = {
            "facts": (facts, "created_at", Count("pk")),
            "episodes": (episodes, "started_at", Count("pk")),
        }
        found = per_day_each(asked, end=today, days=days, older=True)
        return tuple(_running(found[name], end=today, days=days) for name in asked)

    facts, episodes = cache.get_or_set(f"growth:{space.pk}:{today}:{days}", count, CACHE_SECONDS)
    if not facts[-1] and not episodes[-1]:
        return None
    marks = (today - dt.timedelta(days=days - 1), today - dt.timedelta(days=days // 2), today)
    return charts.growth(
        facts,
        episodes,
        names=(
            ngettext("%(n)s fact", "%(n)s facts", facts[-1]) % {"n": _n(facts[-1])},
            ngettext("%(n)s episode", "%(n)s episodes", episodes[-1]) % {"n": _n(episodes[-1])},
        ),
        days=tuple(dated(day, "j M") for day in marks),
    )


def _running(counts: dict[dt.date, float], *, end: dt.date, days: int) -> list[int]:
    """How many there were at the end of each day; `counts` begins a day earlier, with the rest."""
    each = [int(counts.get(end - dt.timedelta(days=back), 0)) for back in range(days, -1, -1)]
    return list(accumulate(each))[1:]


def activity(space: Space, *, today: dt.date, weeks: int = 24) -> charts.Heat | None:
    """Messages a day as a calendar of squares."""

    def count() -> dict:
        return per_day(rows_in(space, Message), "sent_at", end=today, days=weeks * 7)

    counts = cache.get_or_set(f"activity:{space.pk}:{today}:{weeks}", count, CACHE_SECONDS)
    if not counts:
        return None
    # 2024 began on a Monday.
    months = [dated(dt.date(2024, month, 1), "M") for month in range(1, 13)]
    weekdays = [dated(dt.date(2024, 1, day), "D") for day in range(1, 8)]
    return charts.heat(counts, end=today, weeks=weeks, month_names=months, day_names=weekdays)


def _n(count: int) -> str:
    return number_format(count, use_l10n=True, force_grouping=True)
