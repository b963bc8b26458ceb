"""Messages a second that are taken in, answered and learned from; no model is waited for.

python -m bench.talk --messages 400 --chats 40 --json OUT
python -m bench.talk --profile 60      one turn after the other in this process: what they cost
"""

import argparse
import cProfile
import json
import os
import pstats
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter

import django

from bench.fresh_database import fresh_database

WARM = 20
NAMES = ("Ana", "Bo", "Carla", "Diego", "Elif", "Farid")
SAID = (
    "My cat number {n} is called Momo {n}",
    "I prefer green tea in the morning, cup {n}",
    "¿Cómo se llama mi gato número {n}?",
    "The meeting about project {n} was moved to Friday",
    "Vivo en la calle {n} de Sevilla desde hace años",
    "What do you know about project {n}?",
    "Thanks, that helps a lot with number {n}",
    "Remember that the key of locker {n} is under the stone",
)
# Long enough on a machine that others use too.
PATIENCE = 900
OURS = re.compile(r"(?:bot|memory|sleep)/[\w/]+\.py$")
SAVEPOINT = re.compile(r"\"s\d+_x\d+\"")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=400)
    parser.add_argument("--chats", type=int, default=40)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4, help="jobs at the same time in the worker")
    parser.add_argument(
        "--profile", type=int, default=0, help="turns to look into, in this process"
    )
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    random.seed(1)
    os.environ["PROVIDER"] = "offline"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with fresh_database("keno_talk_bench"):
        found = _profile(given) if given.profile else _measure(given)
    print(json.dumps(found, indent=2))
    if given.json:
        with open(given.json, "w") as out:
            json.dump(found, out, indent=2)


def _rooms(given: argparse.Namespace) -> list:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    django.setup()
    from django.core.management import call_command

    from memory.chats import service as chats
    from memory.models import Space

    call_command("migrate", verbosity=0)
    # Every message is a turn of its own.
    alone = {"batch_silence": 0, "batch_size": 1}
    space = Space.objects.create(name="Talk", slug="talk", settings=alone)
    return [chats.find_or_open(space, channel="web", external_id=n) for n in range(given.chats)]


def _say(rooms: list, n: int):
    from memory.chats import inbox

    said = random.choice(SAID).format(n=n)
    return inbox.receive(rooms[n % len(rooms)], text=said, author=NAMES[n % len(NAMES)], silence=0)


def _measure(given: argparse.Namespace) -> dict:
    rooms = _rooms(given)
    command = [sys.executable, "manage.py", "runbot", "--jobs", str(given.jobs)]
    quiet = os.environ | {"LOG_LEVEL": "error"}
    workers = [subprocess.Popen(command, env=quiet) for _ in range(given.workers)]
    try:
        found = _talk(given, rooms, [worker.pid for worker in workers])
    finally:
        for worker in workers:
            worker.terminate()
            worker.wait()
    return {"messages": given.messages, "workers": given.workers} | found | _recalls()


def _talk(given: argparse.Namespace, rooms: list, pids: list[int]) -> dict:
    """In every chat somebody speaks as soon as the answer is there.

    The first messages are not counted: the worker starts and reads its model meanwhile.
    """
    from memory import jobs
    from memory.models import Message

    # By its index: counting all replies again and again would be work for Postgres.
    unanswered = Message.objects.filter(role="user", handled_at=None)
    server = _postmaster()
    spoken, saying = 0, 0.0
    for target in (WARM, given.messages):
        began, before = time.monotonic(), spoken - unanswered.count()
        used, asked = sum(map(_processor, pids)), _family(server)
        saying = 0.0
        while (answered := spoken - unanswered.count()) < target:
            if spoken < target and spoken - answered < len(rooms):
                at = time.monotonic()
                _say(rooms, spoken)
                spoken, saying = spoken + 1, saying + time.monotonic() - at
            else:
                time.sleep(0.01)
            if time.monotonic() - began > PATIENCE:
                sys.exit("It takes too long; something does not work.")
    took = time.monotonic() - began
    _until(lambda: not any(jobs.counts()[state] for state in ("waiting", "later", "running")))
    timed, learned = given.messages - before, time.monotonic() - began
    return {
        "taken_in_per_second": round(timed / saying, 1),
        "answered_per_second": round(timed / took, 1),
        "answered_and_learned_per_second": round(timed / learned, 1),
        "worker_cpu_ms_per_message": round((sum(map(_processor, pids)) - used) * 1000 / timed, 1),
        "postgres_cpu_ms_per_message": round((_family(server) - asked) * 1000 / timed, 1),
    }


def _until(is_done) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_done():
        if time.monotonic() > deadline:
            sys.exit("It takes too long; something does not work.")
        time.sleep(0.05)


def _processor(pid: int) -> float:
    try:
        fields = _stat(pid)
    except FileNotFoundError:
        return 0.0  # it has just ended
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()


def _postmaster() -> int:
    """The process of the database server, which must be on this machine."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        own = cursor.fetchone()[0]
    return int(_stat(own)[1])


def _family(pid: int) -> float:
    """Processor seconds of a process, of its children, and of those that have ended."""
    fields = _stat(pid)
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return _processor(pid) + ended + sum(map(_processor, map(int, children.read().split())))


def _recalls() -> dict:
    from memory.models import Recall

    # A statement reads no memory: nothing was timed.
    kept = [ms for ms in Recall.objects.values_list("ms", flat=True) if ms]
    times = [ms["total"] for ms in kept]
    stages = {name: round(statistics.mean(ms.get(name, 0) for ms in kept), 1) for name in kept[-1]}
    return {"recall_ms_by_stage": stages} | {
        "recall_ms_p50": round(statistics.median(times)),
        "recall_ms_max": round(max(times)),
    }


def _profile(given: argparse.Namespace) -> dict:
    """The work of the worker, one turn after the other: what costs how much of it."""
    rooms = _rooms(given)
    for n in range(WARM):
        _turn(_say(rooms, n))
    said = [_say(rooms, n) for n in range(WARM, WARM + given.profile)]
    watched, asked, began = cProfile.Profile(), Counter(), time.process_time()
    with _counted(asked):
        wall = time.monotonic()
        watched.enable()
        for message in said:
            _turn(message)
        watched.disable()
    pstats.Stats(watched).sort_stats("cumulative").print_stats("memory/|bot/|extraction/", 45)
    pstats.Stats(watched).sort_stats("tottime").print_stats(25)
    for statement, times in asked.most_common(90):
        print(f"{times / given.profile:6.1f}  {statement}")
    return {
        "turns": given.profile,
        "ms_a_turn": round((time.monotonic() - wall) * 1000 / given.profile, 1),
        "cpu_ms_a_turn": round((time.process_time() - began) * 1000 / given.profile, 1),
        "queries_a_turn": round(asked.total() / given.profile, 1),
    }


def _counted(asked: Counter):
    from django.db import connection

    def count(execute, sql, params, many, context):
        asked[f"{_asker()}  {SAVEPOINT.sub('…', sql)[:60]}"] += 1
        return execute(sql, params, many, context)

    return connection.execute_wrapper(count)


def _asker() -> str:
    """The line of ours that a query is for."""
    frame = sys._getframe(2)
    while frame and not OURS.search(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{OURS.search(frame.f_code.co_filename)[0]}:{frame.f_lineno}" if frame else ""


def _turn(message) -> None:
    from bot import turn
    from memory import tasks
    from memory.models import Message

    turn.answer(message.pk, now=message.received_at)
    reply = Message.objects.get(reply_to=message)
    tasks.ingest(message_ids=[message.pk], reply_id=reply.pk, space_id=message.space_id)


if __name__ == "__main__":
    main()
