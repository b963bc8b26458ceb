"""Nights that are killed, and nights that several processes want at once: real processes."""

import os
import signal
import sys
import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from memory import patterns
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.models import Episode, Fact, Lease, Pattern, Space
from sleep import cycle, tasks
from sleep.models import Night, PhaseRun, Proposal
from sleep.phases import PHASES
from tests.factories import make_chat, make_message, make_space

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_model(settings):
    # The threads of the embedding model do not come along into another process.
    settings.EMBEDDING_ENABLED = False


def in_a_process(act) -> int:
    """Run it in a process of its own; what to wait for."""
    connection.close()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        act()
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(code)


def ended(pid: int) -> int:
    """How it ended: 0, an exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def lived(slug: str) -> Space:
    """A space with something to do for every phase."""
    space = make_space(slug)
    chat = make_chat(space=space, external_id="1")
    facts.remember(
        space, text="Ana lives in Lima", by="extraction", subject="Ana", now=NOW - timedelta(days=9)
    )
    for text in ("Bo works as a nurse in the old clinic", "Bo works as nurse in the old clinic"):
        facts.remember(space, text=text, by="extraction", subject="Bo")
    patterns.learn(space, trigger="alpha beta", response="gamma", by="night", confidence=0.1)
    said = ["I moved to Quito yesterday", *["I really like mushrooms"] * 3,
            "The import failed with error 7. Fixed: it works with UTF-8 now."]  # fmt: skip
    for n, line in enumerate(said):
        at = NOW - timedelta(hours=n + 2)
        episode = Episode.objects.create(
            space=space, chat=chat, status="closed", started_at=at, ended_at=at, body=line
        )
        make_message(chat=chat, episode=episode, text=line, author="Ana", sent_at=at)
    episodes.write(
        space, body="The server moved to Hetzner", by="tag", started_at=NOW - timedelta(hours=9)
    )
    return space


def left(space) -> list[str]:
    """What a night leaves, by natural keys."""
    facts_left = Fact.objects.filter(space=space).values_list("text", "status", "confidence")
    asked = Proposal.objects.filter(space=space)
    rows = [
        *facts_left,
        *Pattern.objects.filter(space=space).values_list("trigger", "status"),
        *((one.kind, one.title, one.status, len(one.evidence)) for one in asked),
        *(
            (run.phase, run.status, sorted(run.counts.items()))
            for run in PhaseRun.objects.filter(night__space=space)
        ),
        ("changes", space.night_changes.count()),
    ]
    return sorted(map(str, rows))


def killing(*, inside: bool):
    """The phases, killing their process at the first item: before its commit, or after it."""

    def work(phase):
        def then_die(sleeper, item):
            outcome = phase.work(sleeper, item)
            if inside:
                os.kill(os.getpid(), signal.SIGKILL)
            transaction.on_commit(lambda: os.kill(os.getpid(), signal.SIGKILL))
            return outcome

        return then_die

    return tuple(replace(phase, work=work(phase)) for phase in PHASES)


def end_the_lease(space):
    """Whoever died has the night until its lease ends: it ends now."""
    assert cycle.is_asleep(space)
    Lease.objects.update(until=timezone.now() - timedelta(seconds=1))


def test_r09_killed_before_and_after_every_item_it_ends_as_if_nothing_had_happened():
    quiet, hunted = lived("quiet"), lived("hunted")
    cycle.sleep(quiet, now=NOW)
    deaths = 0
    for attempt in range(100):
        phases = killing(inside=attempt % 2 == 0)
        how = ended(in_a_process(lambda run=phases: cycle.sleep(hunted, now=NOW, phases=run)))
        deaths += how == -signal.SIGKILL
        if how == 0:
            break
        assert how == -signal.SIGKILL
        end_the_lease(hunted)
    assert deaths >= 20
    night = Night.objects.get(space=hunted)
    assert (night.status, night.run) == ("success", 1)
    assert left(hunted) == left(quiet)


def test_r09_killed_while_it_plans_a_phase_it_plans_again():
    quiet, hunted = lived("quiet"), lived("hunted")
    cycle.sleep(quiet, now=NOW)

    def dies(phase):
        return replace(phase, plan=lambda night, now: os.kill(os.getpid(), signal.SIGKILL))

    for n in range(len(PHASES)):
        phases = (*PHASES[:n], dies(PHASES[n]), *PHASES[n + 1 :])
        pid = in_a_process(lambda run=phases: cycle.sleep(hunted, now=NOW, phases=run))
        assert ended(pid) == -signal.SIGKILL
        end_the_lease(hunted)
    cycle.sleep(hunted, now=NOW)
    assert left(hunted) == left(quiet)


@pytest.mark.parametrize("time", range(3))
def test_r08_two_workers_and_four_commands_at_once_are_one_night(time):
    space = lived(f"shared-{time}")
    space.settings = {"sleep_hour": 0}
    space.save()
    as_worker = [lambda: tasks.night(space_id=space.pk)] * 2
    as_command = [lambda: call_command("sleep", "--space", space.slug, verbosity=0)] * 4
    pids = [in_a_process(act) for act in (*as_worker, *as_command)]
    assert [ended(pid) for pid in pids] == [0] * 6
    night = Night.objects.get(space=space)
    assert (night.status, night.run, night.attempts) == ("success", 1, 1)
    assert PhaseRun.objects.filter(night=night).count() == len(PHASES)


def test_a_command_that_waited_while_another_slept_does_not_sleep_again():
    space = lived("late")
    cycle.sleep(space, now=NOW)
    Night.objects.update(ended_at=NOW)
    with pytest.raises(cycle.NotDue):
        cycle.sleep(space, now=NOW + timedelta(minutes=1), if_due=True)
    assert Night.objects.get().run == 1
