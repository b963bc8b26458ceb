"""Counts over days, in the clock of the space."""

import datetime as dt

from django.core.cache import cache
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils.formats import number_format
from django.utils.timezone import get_current_timezone
from django.utils.translation import ngettext

from kenoweb import charts
from kenoweb.access import things
from kenoweb.templatetags.keno import dated
from memory.models import Episode, Fact, Message, Space

# The long charts move slowly; the figures above them are always fresh.
KEEP = 120


def day_start(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), get_current_timezone())


def per_day(rows: QuerySet, field: str, *, end: dt.date, days: int, total: str = "") -> dict:
    """{day: count} or, with `total`, {day: sum of that field}, for the last days up to `end`."""
    since = day_start(end - dt.timedelta(days=days - 1))
    counted = Sum(total, default=0) if total else Count("pk")
    found = (
        rows.filter(**{f"{field}__gte": since})
        .annotate(day=TruncDate(field))
        .order_by()
        .values_list("day")
        .annotate(n=counted)
    )
    return dict(found)


def series(counts: dict, *, end: dt.date, days: int) -> list[tuple[str, float]]:
    """One (name of the day, number) for every day, also the empty ones."""
    line = [end - dt.timedelta(days=back) for back in range(days - 1, -1, -1)]
    return [(dated(day, "SHORT_DATE_FORMAT"), counts.get(day, 0)) for day in line]


def growth(space: Space, *, today: dt.date, days: int = 90) -> charts.Growth | None:
    """What Keno knows today, by the day on which it learned it."""

    def count() -> tuple[list[int], list[int]]:
        facts = things(space, Fact).filter(status=Fact.Status.ACTIVE)
        episodes = things(space, Episode).filter(status__in=Episode.REMEMBERED)
        return (
            _running(facts, "created_at", end=today, days=days),
            _running(episodes, "started_at", end=today, days=days),
        )

    facts, episodes = cache.get_or_set(f"growth:{space.pk}:{today}:{days}", count, KEEP)
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


def _running(rows: QuerySet, field: str, *, end: dt.date, days: int) -> list[int]:
    since = day_start(end - dt.timedelta(days=days - 1))
    total = rows.filter(**{f"{field}__lt": since}).count()
    counts = per_day(rows, field, end=end, days=days)
    line = []
    for back in range(days - 1, -1, -1):
        total += counts.get(end - dt.timedelta(days=back), 0)
        line.append(total)
    return line


def activity(space: Space, *, today: dt.date, weeks: int = 24) -> charts.Heat | None:
    """Messages a day as a calendar of squares."""

    def count() -> dict:
        return per_day(things(space, Message), "sent_at", end=today, days=weeks * 7)

    counts = cache.get_or_set(f"activity:{space.pk}:{today}:{weeks}", count, KEEP)
    if not counts:
        return None
    # 2024 began on a Monday.
    months = [dated(dt.date(2024, month, 1), "M") for month in range(1, 13)]
    weekdays = [dated(dt.date(2024, 1, day), "D") for day in range(1, 8)]
    return charts.heat(counts, end=today, weeks=weeks, month_names=months, day_names=weekdays)


def _n(count: int) -> str:
    return number_format(count, use_l10n=True, force_grouping=True)
