"""What goes on beside the kills of a long run: nights, backups, erasures, and a look at memory.

python -m bench.chaos --minutes 30 --messages 2400 --kills 60 --json OUT
"""

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

# Every so many seconds one of them, in turn.
STEP, ATTEMPTS = 20, 3
CANARY = "zebrafinch"
HELD = """
SELECT count(*) FROM (
  SELECT text FROM memory_message UNION ALL SELECT text FROM memory_fact
  UNION ALL SELECT quote FROM memory_fact UNION ALL SELECT text FROM memory_factevent
  UNION ALL SELECT body FROM memory_episode UNION ALL SELECT query FROM memory_recall
  UNION ALL SELECT text FROM memory_outboxitem) AS held (words)
WHERE words ILIKE %s
"""


class Beside(threading.Thread):
    """Sleeps, backs up and erases in turn until it is told to stop."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.pid, self.done = pid, threading.Event()
        self.memory: list[int] = []
        self.errors: list[str] = []
        self.crossed: Counter[str] = Counter()
        self.nights = self.asleep = self.backups = self.erasures = self.left_after_erasing = 0
        self.folder = tempfile.TemporaryDirectory(prefix="keno-soak-")

    def run(self) -> None:
        turns = [self._sleep, self._back_up, self._erase]
        number = 0
        while not self.done.wait(STEP):
            self.memory.append(resident(self.pid))
            self._try(turns[number % len(turns)], number)
            number += 1

    def _try(self, turn: Callable[[int], None], number: int) -> None:
        """As a job does: what crossed with another writer is done again."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return turn(number)
            except Exception as error:
                if "deadlock" in str(error) and attempt < ATTEMPTS:
                    self.crossed[turn.__name__] += 1
                    continue
                self.errors.append(f"{turn.__name__}: {type(error).__name__}: {error}"[:300])
                return None

    def found(self) -> dict:
        """What came of it. Memory is flat when its last third is not a tenth above the second."""
        third = max(1, len(self.memory) // 3)
        middle, last = self.memory[third : 2 * third], self.memory[-third:]
        mean = [round(sum(some) / max(1, len(some)) / 1e6, 1) for some in (middle, last)]
        return {
            "nights": self.nights,
            "asleep_in_a_worker": self.asleep,
            "backups": self.backups,
            "erasures": self.erasures,
            "left_after_erasing": self.left_after_erasing,
            "crossed_and_done_again": dict(self.crossed),
            "errors_beside": self.errors,
            "worker_mb_middle_and_last_third": mean,
            "worker_mb": [round(held / 1e6) for held in self.memory[:: max(1, third // 5)]],
            "memory_flat": mean[1] <= 1.1 * mean[0],
        }

    def _sleep(self, number: int) -> None:
        from django.utils import timezone

        from memory.models import Space
        from sleep import cycle

        space = Space.objects.get(slug="chaos")
        try:
            cycle.sleep(space, now=timezone.now() + timedelta(days=self.nights))
            self.nights += 1
        except cycle.AlreadyAsleep:  # a worker is at it
            self.asleep += 1

    def _back_up(self, number: int) -> None:
        from django.utils import timezone

        from memory.operations import backup

        path = Path(self.folder.name) / f"keno-{number}{backup.SUFFIX}"
        manifest = backup.write(path, now=timezone.now())
        self.backups += bool(manifest["tables"])
        path.unlink()

    def _erase(self, number: int) -> None:
        """Somebody talks in a chat of their own and is erased."""
        from django.db import connection

        from memory.chats import inbox
        from memory.chats import service as chats
        from memory.models import Chat, Message, Space
        from memory.operations import erasing

        space, _ = Space.objects.get_or_create(name="Beside", slug="beside")
        chat = chats.find_or_open(space, channel="chaos", external_id=f"gone-{number}")
        name = f"{CANARY}{number}"
        for said in (f"My parrot is called {name}", f"I live in {name} with my parrot"):
            inbox.receive(chat, text=said, author="Eve", author_id="eve", silence=0)
        deadline = time.monotonic() + 60
        waiting = Message.objects.filter(chat=chat, role="user", handled_at=None)
        while waiting.exists() and time.monotonic() < deadline:
            time.sleep(0.5)
        row = Chat.objects.get(pk=chat.pk)
        typed = erasing.name_of(row)
        erasing.run(erasing.start(space, "chat", row, typed=typed, by="person:bench"))
        with connection.cursor() as cursor:
            cursor.execute(HELD, [f"%{name}%"])
            self.left_after_erasing += cursor.fetchone()[0]
        self.erasures += 1


def resident(pid: int) -> int:
    """Bytes of memory that are a process's own; the files of the models are shared by all."""
    with open(f"/proc/{pid}/status") as status:
        line = next(one for one in status if one.startswith("RssAnon"))
    return int(line.split()[1]) * 1024
