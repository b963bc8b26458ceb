"""A running import: its space, actor, chats and report."""

from collections.abc import Callable
from dataclasses import dataclass, field

from memory.chats import service as chats
from memory.models import Chat, Space
from memory.transfer import keys
from memory.transfer.reports import Report

Progress = Callable[[int, int, str], None]


@dataclass
class Session:
    space: Space
    by: str
    report: Report
    progress: Progress = lambda done, total, what: None
    # Rows without a history of their own, so that undo can find them.
    made_messages: list[int] = field(default_factory=list)
    made_chats: list[int] = field(default_factory=list)
    _chats: dict[str, Chat] = field(default_factory=dict)

    @property
    def writer(self) -> str:
        """Return the author of imported rows: the machine, so guards and rulings apply."""
        return f"import:{self.report.format}"

    def chat(self, key: str) -> Chat | None:
        """Return the chat of this key, created if missing; None for the whole space."""
        if not key:
            return None
        if key not in self._chats:
            self._chats[key] = chats.by_key(self.space, key) or self._open(key)
        return self._chats[key]

    def _open(self, key: str) -> Chat:
        channel, external_id = keys.parts(key)
        before = Chat.objects.filter(
            space=self.space, channel=channel, external_id=external_id
        ).first()
        if before:
            return before
        made = chats.find_or_open(self.space, channel=channel, external_id=external_id)
        self.made_chats.append(made.pk)
        return made


def ranges(numbers: list[int]) -> list[list[int]]:
    """Return [1, 2, 3, 7] as [[1, 3], [7, 7]], to store thousands of ids in a few numbers."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
