from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest

from sleep.cycle import is_past_hour

MADRID, MEXICO = ZoneInfo("Europe/Madrid"), ZoneInfo("America/Mexico_City")


def is_due(now, *, last=None, slept=False, hour=4, minute=0, zone=UTC):
    return is_past_hour(now, zone=zone, hour=hour, minute=minute, last_success=last, slept=slept)


NOON = datetime(2026, 2, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("last", "answer"),
    [
        (None, True),
        (NOON, False),
        (NOON - timedelta(hours=21), True),
        (NOON - timedelta(hours=19), False),
    ],
    ids=["never", "just now", "21 h", "19 h"],
)
def test_a56_a_night_is_due_twenty_hours_after_the_last(last, answer):
    assert is_due(NOON, last=last) is answer


@pytest.mark.parametrize(("hours", "answer"), [(1, True), (3, False)])
def test_a56_the_minimum_can_be_set(hours, answer):
    last = NOON - timedelta(hours=2)
    assert answer is is_past_hour(
        NOON, zone=UTC, hour=4, last_success=last, slept=False, between=timedelta(hours=hours)
    )


def test_not_before_four_in_the_space_s_own_time():
    three_in_mexico = datetime(2026, 2, 15, 9, 30, tzinfo=UTC)
    assert not is_due(three_in_mexico, zone=MEXICO)
    assert is_due(three_in_mexico + timedelta(minutes=30), zone=MEXICO)


def test_one_night_per_local_date():
    assert not is_due(NOON, slept=True)


def test_a_clock_set_back_does_not_stop_the_nights():
    assert is_due(NOON, last=NOON + timedelta(days=1))


def nights_over(start: datetime, days: int, *, zone: ZoneInfo, hour: int, minute: int):
    """Hourly checks over some days; the local dates on which it slept."""
    slept, last = [], None
    for step in range(days * 24):
        now = start + timedelta(hours=step)
        today = now.astimezone(zone).date()
        if is_due(now, last=last, slept=today in slept, hour=hour, minute=minute, zone=zone):
            slept.append(today)
            last = now
    return slept


@pytest.mark.parametrize(
    "start", [datetime(2026, 3, 26, tzinfo=UTC), datetime(2026, 10, 22, tzinfo=UTC)]
)
@pytest.mark.parametrize("at", [(4, 0), (2, 30)])
def test_r07_one_night_a_date_when_the_clock_is_skipped_or_doubled(start, at):
    slept = nights_over(start, 8, zone=MADRID, hour=at[0], minute=at[1])
    assert slept == sorted(set(slept))
    assert len(slept) in {7, 8}
    assert (slept[-1] - slept[0]).days == len(slept) - 1


def test_r07_every_zone_has_its_four_o_clock():
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        day = datetime(2026, 3, 29, 4, tzinfo=zone)
        assert is_due(day + timedelta(hours=1), zone=zone) is True, name
