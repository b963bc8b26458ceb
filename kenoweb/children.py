"""The processes of a running Keno: started, watched, started again, stopped together."""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kenoweb import leash
from kenoweb.home import NotReady

BASE_DIR = Path(__file__).resolve().parent.parent
MINUTE = 60
TOO_OFTEN = 5
PATIENCE = 12


@dataclass
class Child:
    """One process that should always run."""

    name: str
    argv: Sequence[str]
    fds: Sequence[int] = ()
    process: subprocess.Popen | None = None
    deaths: deque = field(default_factory=lambda: deque(maxlen=TOO_OFTEN))
    again_at: float = 0

    def start(self, leash_end: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *self.argv],
            env=os.environ | {leash.NAME: str(leash_end)},
            cwd=BASE_DIR,
            stdin=subprocess.DEVNULL,
            pass_fds=(leash_end, *self.fds),
            start_new_session=True,  # Ctrl-C is ours: they stop in order, when told
        )

    def bury(self, now: float) -> str:
        """Note a death and when to start again; in words."""
        code, self.process = self.process.returncode, None
        self.deaths.append(now)
        if len(self.deaths) == TOO_OFTEN and now - self.deaths[0] < MINUTE:
            raise NotReady(
                f"The {self.name} ended {TOO_OFTEN} times within a minute: Keno stops. "
                "The lines above say why."
            )
        recent = sum(now - death < MINUTE for death in self.deaths)
        self.again_at = now + (0 if recent == 1 else 2 ** (recent - 2))
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"The {self.name} {how}; starting it again."


class Family:
    """All children, and the pipe whose end tells them that we are gone."""

    def __init__(self, children: Sequence[Child]):
        self.children = children
        self.leash_end, self._ours = os.pipe()

    def start(self) -> None:
        for child in self.children:
            child.start(self.leash_end)

    def tend(self, say: Callable[[str], None], *, now: float) -> None:
        """Start again what has died."""
        for child in self.children:
            if child.process and child.process.poll() is not None:
                say(child.bury(now))
            if not child.process and now >= child.again_at:
                child.start(self.leash_end)

    def stop(self) -> None:
        alive = [child.process for child in self.children if child.process]
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + PATIENCE
        for process in alive:
            try:
                process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        os.close(self._ours)
        os.close(self.leash_end)
