"""A whole Keno in processes of its own, as a person starts it."""

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import psutil

from tests.kenoweb.servers import ROOT

PATIENCE = 180  # for a machine that has much else to do
# What the person at the keyboard or the tests themselves have set is none of its business.
OWN = ("KENO_", "DATABASE_", "DJANGO_")


def environment(home: Path, **values: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    return kept | {
        "KENO_HOME": str(home),
        "KENO_POSTGRES_DIR": os.environ["KENO_POSTGRES_DIR"],
        "PYTHONUNBUFFERED": "1",
        **values,
    }


def manage(home: Path, *args: str, **values: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, ROOT / "manage.py", *args],
        env=environment(home, **values),
        cwd=home.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def fetch(url: str, *, seconds: int = 10) -> tuple[int, str]:
    """Status and body; 0 when nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=seconds) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


class Keno:
    """`manage.py up` (or any other long-running command) and what it says."""

    def __init__(self, home: Path, *args: str, argv=(), **values: str):
        argv = argv or [sys.executable, ROOT / "manage.py", "up", *args]
        self.lines, self.heard = queue.Queue(), []
        self.process = subprocess.Popen(
            argv,
            env=environment(home, **values),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.ear = threading.Thread(target=self._listen)
        self.ear.start()

    def _listen(self):
        with self.process.stdout as said:
            for line in said:
                self.lines.put(line)
        self.lines.put("")

    def hear(self, words: str) -> str:
        """Wait until it says this; the whole line."""
        while True:
            line = self.lines.get(timeout=PATIENCE)
            self.heard.append(line)
            if words in line:
                return line.strip()
            assert line, f"ended without saying {words!r}: {''.join(self.heard)}"

    def greeting(self) -> str:
        """Wait until it is up; the one-time link."""
        self.hear("Sign in with this link")
        return self.hear("http")

    def children(self) -> dict[str, psutil.Process]:
        found = psutil.Process(self.process.pid).children()
        return {"worker" if "runbot" in child.cmdline() else "web": child for child in found}

    def everybody(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def interrupt(self) -> int:
        """Ctrl-C, then its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        family = self.everybody() if self.process.poll() is None else []
        self.kill()
        psutil.wait_procs(family, timeout=60)
        self.ear.join(PATIENCE)


def until(true, *, seconds=PATIENCE) -> bool:
    """Whether it became true in time. For other processes; nothing here waits for a clock."""
    done = threading.Event()
    for _ in range(seconds * 10):
        if true():
            return True
        done.wait(0.1)
    return False
