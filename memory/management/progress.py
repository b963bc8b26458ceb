"""A bar for long commands: on a terminal it moves, elsewhere it keeps silent."""

import shutil
import time
from typing import TextIO

_EVERY = 0.1


class Bar:
    """Call it with (done, total, what); total 0 means unknown."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._is_shown = hasattr(stream, "isatty") and stream.isatty()
        self._last, self._width = 0.0, 0

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if not self._is_shown or (now - self._last < _EVERY and done != total):
            return
        self._last = now
        line = drawn(done, total, what, width=shutil.get_terminal_size().columns - 1)
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def end(self) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0


def drawn(done: int, total: int, what: str, *, width: int = 79) -> str:
    """One line of at most `width` characters."""
    if not total:
        return f"{done:,} {what}"[:width]
    share = min(done / total, 1.0)
    bar = "█" * round(share * 24) + "░" * (24 - round(share * 24))
    return f"{bar} {share:4.0%}  {done:,} of {total:,}  {what}"[:width]
