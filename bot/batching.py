"""Which of the waiting messages are answered together. Pure: rows and the time come in.

Every message has its own job, due when the silence after it is long enough. So the job of the
newest message answers them all, and the earlier jobs find nothing to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby


@dataclass(frozen=True)
class Waiting:
    """One unanswered message."""

    pk: int
    received_at: datetime
    is_command: bool = False


def groups(
    waiting: Sequence[Waiting], *, asked: int, size: int, longest: float, now: datetime
) -> list[list[Waiting]]:
    """What the job of the message `asked` must answer now, in order; empty: not yet, or done.

    `waiting` is oldest first; each group is one turn; a command is always a turn of its own.
    """
    place = next((n for n, message in enumerate(waiting) if message.pk == asked), None)
    if place is None:
        return []
    if waiting[place].is_command:
        # What was said before a command belongs before it.
        return _split(waiting[: place + 1], size=size)
    has_waited = now - waiting[0].received_at >= timedelta(seconds=longest)
    if place == len(waiting) - 1 or len(waiting) >= size or has_waited:
        return _split(waiting[: max(place + 1, size)], size=size)
    return []


def _split(messages: Sequence[Waiting], *, size: int) -> list[list[Waiting]]:
    runs = (list(run) for _, run in groupby(messages, key=lambda message: message.is_command))
    return [
        run[start : start + step]
        for run in runs
        for step in [1 if run[0].is_command else size]
        for start in range(0, len(run), step)
    ]


def join(texts: Sequence[tuple[str, str]]) -> str:
    """The texts of (author, text) as one; the authors are named when there are several."""
    several = len({author for author, _ in texts}) > 1
    return "\n".join(f"{author}: {text}" if several and author else text for author, text in texts)
