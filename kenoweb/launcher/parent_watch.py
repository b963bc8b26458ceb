"""A child of `manage.py up` that never outlives it, not even after kill -9."""

import os
import signal
import threading
import time

NAME = "KENO_LEASH"
EXIT_SECONDS = 15


def exit_with_parent() -> None:
    """Watch the pipe that the parent left us; it closes when the parent is gone."""
    if end := os.environ.pop(NAME, ""):
        threading.Thread(target=_watch, args=[int(end)], daemon=True).start()


def _watch(end: int) -> None:
    os.read(end, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(EXIT_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
