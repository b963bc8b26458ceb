"""Children of `up` are watched: one death is forgiven, a string of deaths is not."""

import os
import signal
import sys
import threading

import pytest

from kenoweb.data_dir import NotReady
from kenoweb.launcher import supervisor
from kenoweb.launcher.supervisor import Child, Supervisor
from kenoweb.management.commands import up
from tests.kenoweb.running import until

pytestmark = pytest.mark.processes
SLEEPER = ("-c", "import time; time.sleep(600)")
STUBBORN = (
    "-c",
    "import pathlib, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "pathlib.Path(sys.argv[1]).touch()\ntime.sleep(600)",
)
FAILING = ("-c", "raise SystemExit(3)")


@pytest.fixture
def start():
    made = []

    def make(*argvs):
        made.append(Supervisor([Child(f"number {n}", argv) for n, argv in enumerate(argvs)]))
        made[-1].start()
        return made[-1]

    yield make
    for found in made:
        if any(child.process and child.process.poll() is None for child in found.children):
            found.stop()


def test_a_dead_child_is_started_again_at_once_and_then_more_slowly(start):
    house, said = start(SLEEPER), []
    child = house.children[0]
    for now, again_after in [(100, 100), (101, 102), (103, 105)]:
        first = child.process
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        house.restart_dead(said.append, now=now)
        assert child.again_at == again_after
        house.restart_dead(said.append, now=again_after)
        assert child.process not in (None, first)
    assert said == ["The number 0 was killed by signal 9; starting it again."] * 3


def test_five_deaths_within_a_minute_stop_everything(start):
    house, said = start(FAILING, SLEEPER), []
    child = house.children[0]
    for now in (0, 10, 20, 30):
        child.process.wait()
        house.restart_dead(said.append, now=now)
        if child.process is None:  # the first is started again at once, and may be dead by now
            house.restart_dead(said.append, now=child.again_at)
    child.process.wait()
    with pytest.raises(NotReady, match="number 0 ended 5 times within a minute: Keno stops"):
        house.restart_dead(said.append, now=40)
    assert said == ["The number 0 ended with code 3; starting it again."] * 4


def test_deaths_far_apart_are_forgiven(start):
    house, said = start(FAILING), []
    for now in range(0, 600, 60):
        house.children[0].process.wait()
        house.restart_dead(said.append, now=now)
    assert len(said) == 10


def test_a_child_that_does_not_listen_is_killed(start, monkeypatch, tmp_path):
    monkeypatch.setattr(supervisor, "STOP_SECONDS", 0.2)
    house = start((*STUBBORN, str(tmp_path / "deaf")), SLEEPER)
    assert until((tmp_path / "deaf").exists)
    processes = [child.process for child in house.children]
    house.stop()
    assert [process.returncode for process in processes] == [-signal.SIGKILL, -signal.SIGTERM]


@pytest.mark.parametrize("line", range(1, 12))
def test_ctrl_c_ends_it_whichever_line_is_running(monkeypatch, line):
    """Python runs the handler between any two lines, those of its own library too."""
    monkeypatch.setattr(up, "WATCH_SECONDS", 0)
    monkeypatch.setattr(up.database, "direct", lambda: True)
    command, house, lines = up.Command(), Supervisor([]), []

    def trace(frame, event, _):
        lines.extend([event] if event == "line" else [])
        if len(lines) < line:
            return trace
        sys.settrace(None)
        command._stop(signal.SIGINT, frame)

    def run():
        sys.settrace(trace)
        command._watch(house)

    running = threading.Thread(target=run, daemon=True)
    running.start()
    running.join(20)
    assert not running.is_alive()
    house.stop()
