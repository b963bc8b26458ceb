from datetime import UTC, datetime, timedelta

import pytest

from memory.models import Notice
from sleep import cycle, proposals, reminding, tasks
from sleep.models import Proposal
from sleep.phase import Outcome, Phase
from tests.factories import make_space

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def space():
    return make_space()


def waits(space, *, since, key="k", kind="advice"):
    made = proposals.propose(space, kind, key=key, after={}, title="t")
    Proposal.objects.filter(pk=made.pk).update(created_at=since)
    return made


def reminders():
    found = Notice.objects.filter(kind=reminding.WAITING_PROPOSALS).order_by("created_at")
    return list(found.values_list("text", flat=True))


def asking(*kinds):
    """A phase that proposes these."""

    def work(sleeper, item):
        for n, kind in enumerate(kinds):
            proposals.propose(
                sleeper.space, kind, key=f"{kind}{n}", after={}, title="t", night=sleeper.night
            )
        return Outcome()

    return Phase("one", lambda night, now: [1], work)


def test_a73_a_night_that_asks_three_things_tells_the_owner_once(space):
    cycle.sleep(space, now=NOW, phases=(asking("advice", "advice", "add"),))
    notice = Notice.objects.get()
    assert "3 proposals" in notice.text
    assert "advice (2)" in notice.text
    assert (notice.kind, notice.link) == (reminding.NEW_PROPOSALS, "proposals/")


def test_a73_a_night_that_asks_nothing_tells_nobody(space):
    cycle.sleep(space, now=NOW, phases=(asking(),))
    assert not Notice.objects.exists()


def test_what_has_waited_for_a_week_is_told_with_its_age(space):
    waits(space, since=NOW - 12 * DAY)
    waits(space, since=NOW - DAY, key="young")
    reminding.remind(space, now=NOW)
    assert reminders() == ["2 proposals wait for a decision, the oldest for 12 days."]


def test_it_is_told_once_a_week_and_no_more_when_decided(space):
    old = waits(space, since=NOW - 8 * DAY)
    for hours in range(0, 15 * 24, 5):
        reminding.remind(space, now=NOW + timedelta(hours=hours))
    assert len(reminders()) == 3
    Proposal.objects.filter(pk=old.pk).update(status="rejected")
    reminding.remind(space, now=NOW + 40 * DAY)
    assert len(reminders()) == 3


def test_nothing_is_said_of_what_came_this_week(space):
    waits(space, since=NOW - 6 * DAY)
    reminding.remind(space, now=NOW)
    assert reminders() == []


def test_a_spanish_space_is_told_in_spanish():
    space = make_space(language="es")
    waits(space, since=NOW - 9 * DAY)
    reminding.remind(space, now=NOW)
    assert reminders() == ["1 propuesta espera una decisión, la más antigua desde hace 9 días."]


def test_the_hourly_look_reminds(space):
    waits(space, since=datetime.now(UTC) - 30 * DAY)
    tasks.look(0)
    tasks.look(0)
    assert len(reminders()) == 1
