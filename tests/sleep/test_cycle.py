import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from memory.facts import service as facts
from memory.models import AuditEntry, Fact, Heartbeat, Lease, Notice, Space
from sleep import cycle, nights, tasks
from sleep.models import Night, PhaseRun, shown
from sleep.phase import Outcome, Phase
from tests.factories import make_space

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)


class Recorder:
    """A phase that remembers what it was asked to do, and may fail at one item."""

    def __init__(self, name="one", items=("a", "b", "c"), fails_at=None):
        self.items, self.fails_at, self.worked, self.planned = items, fails_at, [], 0
        self.phase = Phase(name, self.plan, self.work)

    def plan(self, night, now):
        self.planned += 1
        return list(self.items)

    def work(self, sleeper, item):
        if item == self.fails_at:
            raise RuntimeError("Test error")
        with sleeper.record_change("note", item):
            facts.remember(sleeper.space, text=f"{self.phase.name} {item}", by="night")
        self.worked.append(item)
        return Outcome({"items": 1}, [f"did {item}"])


def sleep(space, *recorders, now=NOW, **given):
    return cycle.sleep(space, now=now, phases=tuple(one.phase for one in recorders), **given)


def test_a_night_runs_its_phases_in_order_and_counts():
    space, one, two = make_space(), Recorder("one"), Recorder("two", items=["x"])
    night = sleep(space, one, two)
    assert night.status == Night.Status.SUCCESS
    assert [(run.phase, run.counts["items"]) for run in night.phases.all()] == [
        ("one", 3),
        ("two", 1),
    ]
    assert night.phases.first().lines == ["did a", "did b", "did c"]


def test_a_night_that_somebody_stops_ends_after_its_phase_and_says_so():
    space, two = make_space(), Recorder("two")

    def work(sleeper, item):
        assert nights.stop(sleeper.night, by="person:ana")
        assert not nights.stop(sleeper.night, by="person:eva")
        return Outcome()

    one = Phase("one", lambda night, now: [1], work)
    night = cycle.sleep(space, now=NOW, phases=(one, two.phase))
    assert (night.status, two.planned) == (Night.Status.SUCCESS, 0)
    assert "stopped the night here" in shown(night.phases.get().lines[0])
    assert AuditEntry.objects.get(action="night.stopped").actor == "person:ana"
    assert not nights.stop(night, by="person:ana")
    assert not cycle.has_stopped_night(space)


def test_a54_nothing_to_do_is_a_success():
    night = sleep(make_space(), Recorder(items=[]))
    assert (night.status, night.phase, night.error) == ("success", "", "")


def test_a55_a_failure_is_kept_told_and_taken_up_at_that_item():
    space = make_space()
    one, broken = Recorder("one"), Recorder("two", fails_at="b")
    with pytest.raises(RuntimeError, match="Test error"):
        sleep(space, one, broken)
    night = Night.objects.get()
    assert (night.status, night.error, night.phase) == ("failed", "Test error", "two")
    assert Notice.objects.filter(space=space, kind="night_failed").count() == 1

    mended_one, mended = Recorder("one"), Recorder("two")
    night = sleep(space, mended_one, mended, now=NOW + timedelta(hours=1))
    assert night.status == "success"
    assert (mended_one.worked, mended.worked) == ([], ["b", "c"])
    assert mended.planned == 0
    assert Night.objects.count() == 1


def test_a_failed_item_leaves_nothing_half_done():
    space = make_space()

    def work(sleeper, item):
        facts.remember(sleeper.space, text="half", by="night")
        raise RuntimeError("late")

    with pytest.raises(RuntimeError):
        cycle.sleep(space, now=NOW, phases=(Phase("one", lambda night, now: [1], work),))
    assert not Fact.objects.filter(text="half").exists()


def test_n11_a_second_run_the_same_date_is_the_same_night():
    space = make_space()
    sleep(space, Recorder())
    night = sleep(space, Recorder(items=[]), now=NOW + timedelta(hours=3))
    assert Night.objects.count() == 1
    assert (night.run, PhaseRun.objects.count()) == (2, 2)


def test_a_space_with_a_zone_the_system_has_forgotten_sleeps_by_utc():
    space = make_space(timezone="Nowhere/Atlantis")
    four = NOW.replace(hour=4, minute=0)
    assert not cycle.is_due(space, now=four - timedelta(minutes=1))
    assert cycle.is_due(space, now=four)


def test_is_due_once_a_local_date():
    space = make_space(timezone="America/Mexico_City")
    assert not cycle.is_due(space, now=NOW - timedelta(minutes=1))
    assert cycle.is_due(space, now=NOW)
    sleep(space, Recorder(items=[]))
    Night.objects.update(ended_at=NOW)
    assert not cycle.is_due(space, now=NOW + timedelta(hours=13))
    assert cycle.is_due(space, now=NOW + timedelta(hours=24))


def test_a_night_that_was_taken_over_writes_nothing_more():
    space, done = make_space(), []

    def taken_over(sleeper, item):
        done.append(item)
        if item == 2:
            Lease.objects.update(holder="another")
        return Outcome({"items": 1})

    phases = (Phase("one", lambda night, now: [1, 2, 3], taken_over),)
    with pytest.raises(cycle.AlreadyAsleep):
        cycle.sleep(space, now=NOW, phases=phases)
    assert done == [1, 2]
    assert PhaseRun.objects.get().counts == {"items": 1}
    assert Night.objects.get().status == Night.Status.RUNNING


def test_r08_only_one_process_sleeps_at_a_time():
    space, outcomes = make_space(), []
    inside, go = threading.Event(), threading.Event()

    def slow(sleeper, item):
        inside.set()
        go.wait(10)
        return Outcome({"items": 1})

    def first():
        try:
            cycle.sleep(space, now=NOW, phases=(Phase("one", lambda night, now: [1], slow),))
            outcomes.append("slept")
        finally:
            connection.close()

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(10)
    assert cycle.is_asleep(space)
    with pytest.raises(cycle.AlreadyAsleep):
        sleep(space, Recorder())
    go.set()
    thread.join()
    assert outcomes == ["slept"]
    assert not cycle.is_asleep(space)
    assert PhaseRun.objects.get().counts == {"items": 1}


def test_a_rehearsal_keeps_nothing():
    space = make_space()
    night = cycle.rehearse(space, now=NOW, phases=(Recorder().phase,))
    assert [run.counts for run in night.told] == [{"items": 3}]
    assert not Night.objects.exists()
    assert not Fact.objects.exists()


def test_one_line_of_a_night_is_taken_back_and_brought_again():
    space = make_space()
    night = sleep(space, Recorder())
    line = night.changes.get(text="b")
    nights.undo_change(line, by="person:ana")
    assert set(Fact.objects.live().values_list("text", flat=True)) == {"one a", "one c"}
    nights.undo_change(line, by="person:ana")
    nights.redo_change(line, by="person:ana")
    assert Fact.objects.live().count() == 3


def test_a_whole_night_is_taken_back():
    space = make_space()
    kept = facts.remember(space, text="kept", by="person:ana").row
    night = sleep(space, Recorder())
    assert nights.undo(night, by="person:ana") == (3, [])
    assert list(Fact.objects.live()) == [kept]
    with pytest.raises(nights.NothingToUndo):
        nights.undo(night, by="person:ana")


def test_what_was_changed_since_stays_and_is_named_and_the_rest_is_taken_back():
    space = make_space()
    night = sleep(space, Recorder())
    changed = Fact.objects.get(text="one b")
    facts.revise(changed, by="person:ana", text="one b, in my words")
    done = nights.undo(night, by="person:ana")
    assert (done.count, [line.text for line in done.kept]) == (2, ["b"])
    assert [fact.text for fact in Fact.objects.live()] == ["one b, in my words"]


class TestNightsOfMany:
    """One look for all, their nights in turn over the workers, behind what people wait for."""

    def look(self):
        tasks.look(0)
        waiting = ProcrastinateJob.objects.filter(task_name="sleep.night", status="todo")
        return list(waiting.order_by("pk"))

    @pytest.fixture
    def spaces(self):
        now = {"settings": {"sleep_hour": 0}}
        spaces = [make_space(**now) for _ in range(6)]
        for days, space in enumerate(spaces[:5], start=2):
            at = timezone.now() - timedelta(days=days)
            Night.objects.create(
                space=space, local_date=at.date(), started_at=at, ended_at=at, status="success"
            )
        return spaces

    def test_who_waited_longest_sleeps_first(self, spaces):
        order = [job.args["space_id"] for job in self.look()]
        assert order == [spaces[n].pk for n in (5, 4, 3, 2, 1, 0)]
        assert len(self.look()) == 6  # none waits twice

    def test_each_worker_sleeps_for_one_at_a_time_and_answers_go_before(self, spaces):
        for name in "ab":
            Heartbeat.objects.create(name=name)
        found = self.look()
        assert Counter(job.lock for job in found) == {"nights-0": 3, "nights-1": 3}
        assert {job.priority for job in found} < set(range(-10, 0))

    def test_a_look_asks_as_much_for_many_as_for_one(self, spaces):
        self.look()
        with CaptureQueriesContext(connection) as few:
            list(cycle.due_spaces(Space.objects.all(), now=NOW))
        assert len(few) == 1
