from datetime import UTC, date, datetime, timedelta

import pytest

from memory.models import Heartbeat, Notice
from memory.operations import health as health_checks
from sleep import nights
from sleep.models import Night
from tests.factories import make_space

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def space(db):
    Heartbeat.objects.create(name="w", beat_at=NOW)
    return make_space(created_at=NOW - timedelta(hours=25))


def slept(space, *, hours, status="success", error=""):
    began = NOW - timedelta(hours=hours)
    given = {"status": status, "error": error, "started_at": began}
    return Night.objects.create(space=space, local_date=date(2026, 3, 10), **given)


def test_a_new_space_need_not_have_slept_yet(space):
    assert nights.health(space, NOW).level == "ok"


def test_a_space_that_never_slept_is_a_warning_after_a_day(space):
    found = nights.health(space, NOW + timedelta(hours=2))
    assert (found.level, found.text) == ("warning", "No night was slept yet.")


@pytest.mark.parametrize(("hours", "level"), [(8, "ok"), (26, "ok"), (27, "warning")])
def test_a_night_that_is_late_is_a_warning(space, hours, level):
    slept(space, hours=hours)
    assert nights.health(space, NOW).level == level


def test_a_night_that_failed_is_an_error_and_told_by_the_watchdog(space):
    slept(space, hours=1, status="failed", error="no room")
    assert health_checks.overall_state(health_checks.check(space, now=NOW)) == "UNHEALTHY"
    assert health_checks.watch(space, now=NOW).text == "The last night failed: no room"
    assert health_checks.watch(space, now=NOW + timedelta(minutes=1)) is None
    assert Notice.objects.filter(kind="health").count() == 1
