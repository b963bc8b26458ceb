"""The processes of a running Keno: started, watched, started again, stopped together."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kenoweb.data_dir import NotReady

PIPE_VARIABLE = "KENO_PARENT_PIPE"
BASE_DIR = Path(__file__).resolve().parents[2]
# A child that ends so often within so many seconds is given up.
MAX_CRASHES = 5
CRASH_WINDOW = 60
# How long a process may take to end: when told, and when its parent is gone.
STOP_SECONDS = 12
EXIT_SECONDS = 15


def exit_with_parent() -> None:
    """Watch the pipe that the parent left us; it closes when the parent is gone."""
    if end := os.environ.pop(PIPE_VARIABLE, ""):
        threading.Thread(target=_watch, args=[int(end)], daemon=True).start()


def _watch(end: int) -> None:
    os.read(end, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(EXIT_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Child:
    name: str
    argv: Sequence[str]
    fds: Sequence[int] = ()
    process: subprocess.Popen | None = None
    deaths: deque = field(default_factory=lambda: deque(maxlen=MAX_CRASHES))
    again_at: float = 0

    def start(self, parent_pipe: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *self.argv],
            env=os.environ | {PIPE_VARIABLE: str(parent_pipe)},
            cwd=BASE_DIR,
            stdin=subprocess.DEVNULL,
            pass_fds=(parent_pipe, *self.fds),
            start_new_session=True,  # Ctrl-C is ours: children stop in order, when told
        )

    def record_exit(self, now: float) -> str:
        """Record the exit and when to start again; return a sentence about it."""
        code, self.process = self.process.returncode, None
        self.deaths.append(now)
        if len(self.deaths) == MAX_CRASHES and now - self.deaths[0] < CRASH_WINDOW:
            raise NotReady(
                f"The {self.name} ended {MAX_CRASHES} times within a minute: Keno stops. "
                "The lines above say why."
            )
        recent = sum(now - death < CRASH_WINDOW for death in self.deaths)
        self.again_at = now + (0 if recent == 1 else 2 ** (recent - 2))
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"The {self.name} {how}; starting it again."


class Supervisor:
    """All child processes, and the pipe that closes when this process is gone."""

    def __init__(self, children: Sequence[Child]):
        self.children = children
        self.is_stopped = False
        self.parent_pipe, self._ours = os.pipe()

    def start(self, name: str = "") -> None:
        """Start the child of this name, or all that were not started yet."""
        for child in self.children:
            if not (child.process or child.deaths) and name in ("", child.name):
                child.start(self.parent_pipe)

    def restart_dead(self, say: Callable[[str], None], *, now: float) -> None:
        """Start again every child that has exited and whose pause is over."""
        for child in self.children:
            if child.process and child.process.poll() is not None:
                say(child.record_exit(now))
            if not child.process and child.deaths and now >= child.again_at:
                child.start(self.parent_pipe)

    def stop(self) -> None:
        """Stop all children, in order; a second time does nothing."""
        if self.is_stopped:
            return
        self.is_stopped = True
        processes = [child.process for child in self.children if child.process]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in processes:
            try:
                process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        os.close(self._ours)
        os.close(self.parent_pipe)
