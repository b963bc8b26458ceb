"""Exactly one night per local date, whatever happens to the clock."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from sleep import cycle
from sleep.models import Night
from tests.factories import make_space

pytestmark = pytest.mark.django_db(transaction=True)
START = datetime(2026, 2, 10, 0, 7, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def hours(start, n):
    return [start + HOUR * step for step in range(n)]


def live(space, moments):
    """The hourly look at these moments; the dates on which it slept, in order."""
    slept = []
    for now in moments:
        if cycle.is_due(space, now=now):
            night = cycle.sleep(space, now=now, phases=())
            Night.objects.filter(pk=night.pk).update(ended_at=now)
            slept.append(night.local_date)
            assert night.run == 1
    return slept


def days(first, n):
    return [first + DAY * step for step in range(n)]


@pytest.mark.parametrize("by", [HOUR, -HOUR, DAY, -DAY, 3 * DAY], ids=str)
def test_r07_a_clock_that_jumps_never_doubles_a_date(by):
    space = make_space()
    before = hours(START, 60)
    slept = live(space, [*before, *hours(before[-1] + by, 96)])
    assert slept == sorted(set(slept))
    assert len(slept) == Night.objects.count()
    # Every date the clock passed through after the jump has its night.
    assert slept[-1] == (before[-1] + by + 95 * HOUR).date()


@pytest.mark.parametrize(
    ("zone", "start", "first"),
    [
        ("America/New_York", datetime(2026, 3, 6, 0, 7, tzinfo=UTC), date(2026, 3, 6)),
        ("America/New_York", datetime(2026, 10, 30, 0, 7, tzinfo=UTC), date(2026, 10, 30)),
        ("Europe/Madrid", datetime(2026, 3, 27, 0, 7, tzinfo=UTC), date(2026, 3, 27)),
        ("Europe/Madrid", datetime(2026, 10, 23, 0, 7, tzinfo=UTC), date(2026, 10, 23)),
        ("America/Mexico_City", datetime(2026, 4, 3, 0, 7, tzinfo=UTC), date(2026, 4, 3)),
    ],
)
@pytest.mark.parametrize("setting", [{}, {"sleep_hour": 2, "sleep_minute": 30}], ids=["4", "2:30"])
def test_r07_summer_time_brings_and_takes_no_night(zone, start, first, setting):
    space = make_space(timezone=zone, settings=setting)
    # Mexico and New York are still on the day before at first.
    slept = [one for one in live(space, hours(start, 120)) if one >= first]
    assert slept[:4] == days(first, 4)
    assert len(slept) == len(set(slept))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("America/Mexico_City", "Europe/Madrid"),
        ("Europe/Madrid", "America/Mexico_City"),
        ("Pacific/Kiritimati", "Pacific/Pago_Pago"),
    ],
)
def test_r07_a_zone_that_changes_at_run_time_never_doubles_a_date(one, other):
    space = make_space(timezone=one)
    slept = live(space, hours(START, 60))
    space.timezone = other
    space.save()
    slept += live(space, hours(START + 60 * HOUR, 96))
    assert slept == sorted(set(slept))
    gaps = {b - a for a, b in pairwise(slept)}
    assert gaps <= {DAY, 2 * DAY}
