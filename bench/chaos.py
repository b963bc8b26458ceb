"""Kill the bot again and again while it works, and count what was lost, doubled or disordered.

python -m bench.chaos --messages 1000 --kills 30 --json OUT
python -m bench.chaos --minutes 30 --messages 2400 --kills 60      a soak, with bench.soak beside
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import django

from bench.chaos_sink import Sink
from bench.fresh_database import fresh_database
from bench.soak import Beside

POINTS = (
    "claimed",
    "thought",
    "committing",
    "committed",
    "sent",
    "delivered",
    "ingested",
    "anywhere",
)
PATIENCE = 900


@dataclass
class Bot:
    """One worker process and the order by which it will die."""

    sink: str
    order: str = ""
    process: subprocess.Popen = field(init=False)
    dies_at: float = float("inf")

    def __post_init__(self):
        if self.order.startswith("anywhere"):
            self.dies_at = time.monotonic() + 4 + random.uniform(0, 4)
        order = "" if self.order.startswith("anywhere") else self.order
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.chaos_worker"],
            env=os.environ | {"CHAOS_SINK": self.sink, "CHAOS_DIE": order, "LOG_LEVEL": "error"},
            stdout=subprocess.DEVNULL,
        )

    def is_dead(self) -> bool:
        if time.monotonic() > self.dies_at:
            self.process.kill()
            self.process.wait()
        return self.process.poll() is not None


@dataclass
class Death:
    point: str
    at: float
    in_flight: list[int]
    recovered_after: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--chats", type=int, default=40)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=0, help="spread it over so long a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--template", default="template1", help="a database to start from")
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    random.seed(given.seed)
    # A run that is told to stop still stops its workers and drops its database.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with fresh_database("keno_chaos", template=given.template):
        found = run(given)
    print(json.dumps(found, indent=2))
    if given.json:
        with open(given.json, "w") as out:
            json.dump(found, out, indent=2)
    sys.exit(0 if found["passed"] else 1)


def run(given: argparse.Namespace) -> dict:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    sink = Sink()
    feeding = threading.Thread(target=_feed, args=[given], daemon=True)
    began = time.monotonic()
    feeding.start()
    bots: list[Bot] = []
    # One that nobody kills: of it can be seen whether memory grows.
    steady = Bot(f"http://127.0.0.1:{sink.server_port}") if given.minutes else None
    beside = Beside(steady.process.pid) if steady else None
    if beside:
        beside.start()
    try:
        deaths = _kill_and_restart(given, bots, f"http://127.0.0.1:{sink.server_port}")
        # What still goes on beside it is waited for below, with the recoveries of the last deaths.
        while feeding.is_alive():
            _note_recoveries(deaths)
            feeding.join(0.2)
        if beside:
            beside.done.set()
        finished = _wait_until_done(deaths, beside)
        seconds = time.monotonic() - began
        stop_seconds = [_stop(bot) for bot in bots]
    finally:
        for bot in [*bots, *([steady] if steady else [])]:
            bot.process.kill()
    return (
        _count(given, sink, deaths)
        | {
            "finished": finished,
            "seconds": round(seconds, 1),
            "messages_per_second": round(given.messages / seconds, 1),
            "worker_cpu_ms_per_message": round(_cpu_of_workers() * 1000 / given.messages),
            "stop_seconds_max": round(max(stop_seconds), 2),
        }
        | _verdict(given, sink, deaths, finished, stop_seconds)
        | (beside.found() if beside else {})
    )


def _feed(given: argparse.Namespace) -> None:
    """Messages arrive steadily in random chats, every tenth of them twice."""
    from memory.chats import inbox
    from memory.chats import service as chats
    from memory.models import Space

    # Every message is a turn of its own here, so that each can be looked for.
    space = Space.objects.create(
        name="Chaos", slug="chaos", settings={"batch_silence": 0, "batch_size": 1}
    )
    rooms = [chats.find_or_open(space, channel="chaos", external_id=n) for n in range(given.chats)]
    pause = (given.minutes * 60 or given.kills * 3.5) / given.messages
    for n in range(1, given.messages + 1):
        chat = random.choice(rooms)
        for _ in range(2 if n % 10 == 0 else 1):
            inbox.receive(
                chat, text=f"Please keep parcel {n} in rack {n}", external_id=n, author="Ana"
            )
        time.sleep(random.uniform(0, 2 * pause))


def _kill_and_restart(given: argparse.Namespace, bots: list[Bot], sink: str) -> list[Death]:
    orders = [POINTS[n % len(POINTS)] for n in range(given.kills)]
    random.shuffle(orders)
    orders = [f"{point}:{random.randint(1, 12)}" for point in orders]
    bots += [Bot(sink, orders.pop() if orders else "") for _ in range(given.workers)]
    deaths: list[Death] = []
    began, apart = time.monotonic(), given.minutes * 60 / (given.kills + 1)
    while orders or any(bot.order for bot in bots):
        for n, bot in enumerate(bots):
            if bot.order and bot.is_dead():
                deaths.append(Death(bot.order.partition(":")[0], time.time(), _in_flight()))
                bots[n] = Bot(sink, orders.pop() if orders and not apart else "")
            elif not bot.order and orders and time.monotonic() - began > apart * (len(deaths) + 1):
                # Over a long time: one that was started without an order is stopped for one.
                _stop(bot)
                bots[n] = Bot(sink, orders.pop())
        _note_recoveries(deaths)
        if _nothing_left(given):
            # The last orders wait for passes that will never come.
            for bot in bots:
                bot.dies_at = time.monotonic() if bot.order else bot.dies_at
        time.sleep(0.1)
    return deaths


def _in_flight() -> list[int]:
    """The jobs that were running, in whichever process: answers, deliveries, learning.

    A night of another process takes as long as it takes.
    """
    from procrastinate.contrib.django.models import ProcrastinateJob

    running = ProcrastinateJob.objects.filter(status="doing")
    running = running.exclude(task_name__startswith="sleep.")
    return list(running.values_list("pk", flat=True))


def _note_recoveries(deaths: list[Death]) -> None:
    """A death is over when all that ran when it came is done; a job that is done is deleted."""
    from procrastinate.contrib.django.models import ProcrastinateJob

    open_jobs = ProcrastinateJob.objects.filter(status__in=["todo", "doing"])
    for death in deaths:
        is_new = death.recovered_after is None
        if is_new and not open_jobs.filter(pk__in=death.in_flight).exists():
            death.recovered_after = time.time() - death.at


def _nothing_left(given: argparse.Namespace) -> bool:
    from memory.models import Message

    said = Message.objects.filter(role="user", space__slug="chaos")
    return said.count() == given.messages and not said.filter(handled_at=None).exists()


def _wait_until_done(deaths: list[Death], beside: Beside | None) -> bool:
    from memory import jobs
    from memory.models import Message, OutboxItem

    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        _note_recoveries(deaths)
        open_ends = (
            (beside and beside.is_alive())
            or Message.objects.filter(role="user", handled_at=None).exists()
            or OutboxItem.objects.filter(delivered_at=None).exists()
            or any(jobs.counts()[state] for state in ("waiting", "later", "running"))
        )
        if not open_ends:
            return True
        time.sleep(0.2)
    return False


def _stop(bot: Bot) -> float:
    began = time.monotonic()
    bot.process.send_signal(signal.SIGTERM)
    bot.process.wait(30)
    return time.monotonic() - began


def _cpu_of_workers() -> float:
    """Seconds of processor time of all workers, their start included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _count(given: argparse.Namespace, sink: Sink, deaths: list[Death]) -> dict:
    from memory import jobs
    from memory.models import Fact, LlmCall, Message

    users = Message.objects.filter(role="user", space__slug="chaos")
    replies = Message.objects.filter(role="assistant", space__slug="chaos")
    answered = Counter(replies.values_list("reply_to_id", flat=True))
    rooms = set(replies.values_list("chat_id", flat=True))
    keys = Counter((d["chat"], d["key"]) for d in sink.deliveries if d["chat"] in rooms)
    # What a night makes of them is no answer to a message. Two may read one message, the model
    # and Keno itself: where they do not agree on the words, both are kept.
    parcels = Fact.objects.filter(text__icontains="parcel")
    facts = parcels.filter(source="message")
    learned = facts.values("message").distinct().count()
    readings = facts.values("message", "written_by").distinct().count()
    recoveries = [death.recovered_after for death in deaths]
    return {
        "messages": users.count(),
        "kills": len(deaths),
        "kills_by_point": dict(Counter(death.point for death in deaths)),
        "lost": given.messages - users.exclude(handled_at=None).count(),
        "undelivered": replies.count() - len(keys),
        "doubled_replies": sum(count > 1 for count in answered.values()),
        "facts": facts.count(),
        "learned": learned,
        "kept_by_two_readers": readings - learned,
        "doubled_facts": facts.filter(times_seen__gt=1).count() + facts.count() - readings,
        "facts_of_nights": parcels.count() - facts.count(),
        "out_of_order": sink.inversions(),
        "duplicate_deliveries": sum(count - 1 for count in keys.values()),
        "dead_letters": jobs.dead_letters().count(),
        "model_calls": LlmCall.objects.count(),
        "recoveries_s": [
            f"{death.recovered_after:.1f} {death.point}"
            for death in sorted(deaths, key=lambda death: -(death.recovered_after or 0))
            if death.recovered_after is not None
        ],
        "recovery_max_s": round(max((r for r in recoveries if r is not None), default=0), 1),
        "not_recovered": sum(r is None for r in recoveries),
    }


def _verdict(given, sink, deaths, finished, stop_seconds) -> dict:
    found = _count(given, sink, deaths)
    zero = ("lost", "undelivered", "doubled_replies", "doubled_facts", "out_of_order")
    passed = (
        finished
        and found["kills"] == given.kills
        and all(found[name] == 0 for name in (*zero, "dead_letters", "not_recovered"))
        and found["learned"] == given.messages
        and found["duplicate_deliveries"] <= given.kills
        and found["recovery_max_s"] < 30
        and max(stop_seconds) < 10
    )
    return {"passed": passed}


if __name__ == "__main__":
    main()
