"""An older Keno is at work on much memory while this one migrates its tables: who waits, how long?

git worktree add /tmp/older COMMIT
python -m bench.migration --old /tmp/older --facts 100000 --json OUT

The older checkout makes its tables, fills them, answers messages and goes on while the tables
change. Then its worker is stopped, and one of this checkout answers what is left.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg

from bench.fresh_database import fresh_database

PATIENCE = 600
BEFORE = AFTER = 10
FILL = """
import sys
import django
django.setup()
from django.utils import timezone
from bench import pages_data
from memory.vectors import embed
facts = int(sys.argv[1])
say = lambda what: None
with pages_data.without_indexes():
    space = pages_data.fill(facts=facts, episodes=facts // 5, now=timezone.now(), say=say)
    pages_data.give_vectors(space, embed.current())
"""
# Says how many were taken in, and how many the tables refused.
FEED = """
import sys, time
import django
django.setup()
from memory.chats import inbox, service
from memory.models import Space
space = Space.objects.first()
chats = [service.find_or_open(space, channel="bench", external_id=n) for n in range(5)]
taken = refused = 0
for number in range(100_000):
    try:
        said = f"I keep parcel {number} in rack {number}"
        inbox.receive(chats[number % 5], text=said, external_id=number, author="Ana", silence=0)
        taken += 1
    except Exception as error:
        refused += 1
        print(type(error).__name__, str(error)[:200], file=sys.stderr)
    print(taken, refused, flush=True)
    time.sleep(0.5)
"""
LOCKS = """
SELECT lock.relation::regclass::text, lock.granted FROM pg_locks lock
JOIN pg_class ON pg_class.oid = lock.relation
WHERE lock.mode = 'AccessExclusiveLock' AND relkind = 'r'
  AND relname ~ '^(memory|sleep|bot|kenoweb)_'
"""
SAID = "SELECT count(*) FROM memory_message WHERE role = 'user' AND text LIKE 'I keep parcel%'"
DOUBLED = """
SELECT count(*) FROM (
  SELECT reply_to_id FROM memory_message WHERE role = 'assistant' AND reply_to_id IS NOT NULL
  GROUP BY reply_to_id HAVING count(*) > 1) AS twice
"""


class Locks(threading.Thread):
    """Notes for how long each table was locked against everybody, and waited for."""

    def __init__(self, url: str):
        super().__init__(daemon=True)
        self.url, self.over = url, threading.Event()
        self.held: dict[str, float] = {}
        self.waited: dict[str, float] = {}

    def run(self) -> None:
        since: dict[tuple[str, bool], float] = {}
        with psycopg.connect(self.url, autocommit=True) as connection:
            while not self.over.wait(0.02):
                found = set(connection.execute(LOCKS).fetchall())
                now = time.monotonic()
                since = {one: since.get(one, now) for one in found}
                for (table, granted), began in since.items():
                    kept = self.held if granted else self.waited
                    kept[table] = max(kept.get(table, 0), now - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="a checkout of an older Keno")
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    os.environ |= {"DJANGO_SETTINGS_MODULE": "kenoweb.settings", "LOG_LEVEL": "error"}
    with fresh_database("keno_migration_bench") as url:
        found = measure(given, url)
    print(json.dumps(found, indent=2))
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=2))
    sys.exit(0 if found["passed"] else 1)


def measure(given: argparse.Namespace, url: str) -> dict:
    _run(given.old, "manage.py", "migrate", "-v", "0")
    _run(given.old, "-c", FILL, str(given.facts))
    worker = _start(given.old, "manage.py", "runbot")
    feeder = _start(given.old, "-u", "-c", FEED, stdout=subprocess.PIPE, text=True)
    locks = Locks(url)
    try:
        time.sleep(BEFORE)
        locks.start()
        began = time.monotonic()
        _run(Path.cwd(), "manage.py", "migrate", "-v", "0")
        seconds = time.monotonic() - began
        time.sleep(AFTER)
        locks.over.set()
        feeder.kill()
        taken, refused = map(int, feeder.communicate()[0].splitlines()[-1].split())
        found = {"old_worker_ran_on": worker.poll() is None}
        worker.send_signal(signal.SIGTERM)
        found |= {"old_worker_stopped": worker.wait(30)}
        worker = _start(Path.cwd(), "manage.py", "runbot")
        answered, doubled = _answered(url)
    finally:
        worker.kill()
        feeder.kill()
    longest = max(locks.held.values(), default=0)
    found |= {
        "facts": given.facts,
        "migrate_s": round(seconds, 1),
        "locked_s": {table: round(took, 2) for table, took in _longest(locks.held)},
        "waited_s": {table: round(took, 2) for table, took in _longest(locks.waited)},
        "messages": taken,
        "refused": refused,
        "unanswered": taken - answered,
        "doubled": doubled,
    }
    right = not (refused or doubled or found["unanswered"] or found["old_worker_stopped"])
    return found | {"passed": right and seconds < 60 and longest <= 1}


def _longest(times: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(times.items(), key=lambda one: -one[1])[:5]


def _answered(url: str) -> tuple[int, int]:
    """How many messages were handled once the worker had the time, and how many of them twice."""
    deadline = time.monotonic() + PATIENCE
    with psycopg.connect(url, autocommit=True) as connection:

        def count(statement: str) -> int:
            [(number,)] = connection.execute(statement).fetchall()
            return number

        while count(f"{SAID} AND handled_at IS NULL") and time.monotonic() < deadline:
            time.sleep(0.5)
        return count(f"{SAID} AND handled_at IS NOT NULL"), count(DOUBLED)


def _run(folder: Path, *command: str) -> None:
    subprocess.run([sys.executable, "-W", "ignore", *command], cwd=folder, check=True)


def _start(folder: Path, *command: str, **given) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-W", "ignore", *command], cwd=folder, **given)


if __name__ == "__main__":
    main()
