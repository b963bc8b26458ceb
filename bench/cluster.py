"""A cluster on one machine under load, of which each part is killed in turn.

    python -m bench.cluster --messages 200 --json OUT

A primary, a replica that confirms every commit, two workers and two web processes, each in a home
of its own. Worker, web process and replica are killed and started again; the primary is killed last
and stays dead: its replica is promoted. `lost` are messages that were taken in and are gone or
without an answer; `doubled` are replies and facts that are there twice; `recovery_s` is the longest
time from a kill until a message said after it was answered and both web processes were ready.
"""

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import django
import psycopg

from bench.chaos import Bot
from bench.chaos_sink import Sink
from kenoweb.launcher import embedded_postgres
from kenoweb.launcher.embedded_account import EmbeddedError, closed_folder, place, prepare

FOLLOWER = "keno_replica"
PATIENCE = 120
# Seconds until all is well again.
MOST = 20
# By the name of what is killed: how, given the cluster.
Kills = Mapping[str, Callable[[Any], None]]


def follow(primary: str, home: Path, *, name: str, options: Mapping = {}) -> str:
    """Make a streaming replica of a running server in this home, start it, return its address."""
    here = place(home)
    prepare(here)
    closed_folder(here.data, here.uid)
    code, words = here.run(
        *("pg_basebackup", "--pgdata", here.data, "--checkpoint", "fast", "--write-recovery-conf"),
        *("--dbname", f"{primary}&application_name={name}"),
    )
    if code:
        raise EmbeddedError(words)
    return embedded_postgres.start(home, options=options)


@dataclass
class Web:
    """One web process, which may be killed and started again."""

    home: Path
    port: int
    process: subprocess.Popen = field(init=False)

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "-c", "python:kenoweb.launcher.gunicorn"),
                *("-b", f"127.0.0.1:{self.port}", "kenoweb.wsgi"),
            ],
            env=os.environ
            | {"KENO_HOME": str(self.home), "KENO_WEB_WORKERS": "1", "LOG_LEVEL": "error"},
            start_new_session=True,
        )

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def is_ready(self) -> bool:
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            asked.request("GET", "/readyz", headers={"Host": "localhost"})
            return '"database": "ok"' in asked.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            asked.close()


@dataclass
class Cluster:
    """All parts, and what was said to them."""

    folder: Path
    messages: int
    sink: Sink = field(default_factory=Sink)
    said: list[int] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)
    bots: list[Bot] = field(default_factory=list)
    webs: list[Web] = field(default_factory=list)

    @property
    def homes(self) -> tuple[Path, Path]:
        return self.folder / "primary", self.folder / "replica"

    def start_primary(self) -> None:
        embedded_postgres.start(self.homes[0], options={"wal_keep_size": "1GB"})
        hosts = ",".join(str(place(home).socket_folder) for home in self.homes)
        os.environ["DATABASE_URL"] = (
            f"postgresql://keno@/keno?host={hosts}&port=5432,5432"
            "&target_session_attrs=read-write&connect_timeout=3"
        )

    def start_replica(self) -> None:
        """From here on nothing is written that the replica has not written, too."""
        first = embedded_postgres.url(self.homes[0])
        follow(first, self.homes[1], name=FOLLOWER)
        with psycopg.connect(first, autocommit=True) as told:
            told.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{FOLLOWER}'")
            told.execute("SELECT pg_reload_conf()")

    def start_programs(self) -> None:
        for n in range(2):
            home = self.folder / f"worker-{n}"
            home.mkdir()
            os.environ["KENO_HOME"] = str(home)
            self.bots.append(Bot(f"http://127.0.0.1:{self.sink.server_port}"))
            self.webs.append(Web(self.folder / f"web-{n}", free_port()))

    def stop(self) -> None:
        for bot in self.bots:
            bot.process.kill()
        for web in self.webs:
            web.kill()
        self.stop_servers()

    def stop_servers(self) -> None:
        for home in self.homes:
            embedded_postgres.stop(home)

    def is_whole(self) -> bool:
        """Whether the next part may be killed."""
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=200, help="at least so many")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between messages")
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    limits = {"messages": given.messages, "pause": given.pause, "most": MOST}
    measure(Cluster, PARTS, out=given.json, **limits)


def measure(
    make: type[Cluster], kills: Kills, *, messages: int, pause: float, most: float, out: str
) -> None:
    """Run the cluster, kill what is to be killed in turn, print what was found and end.

    Nothing may be lost or doubled, and `most` seconds may pass until all is well again.
    """
    os.environ.setdefault("KENO_SECRET_KEY", "for benchmarks only, never a secret " * 2)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="keno-cluster-") as name, ExitStack() as stack:
        os.chmod(name, 0o755)
        os.environ["KENO_HOME"] = name
        cluster = make(Path(name), messages)
        stack.callback(cluster.stop)
        found = run(cluster, kills, pause=pause, most=most)
    print(json.dumps(found, indent=2))
    if out:
        Path(out).write_text(json.dumps(found, indent=2))
    sys.exit(0 if found["passed"] else 1)


def run(cluster: Cluster, kills: Kills, *, pause: float, most: float) -> dict:
    cluster.start_primary()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    cluster.start_replica()
    cluster.start_programs()
    until(lambda: all(web.is_ready() for web in cluster.webs))
    feeding = threading.Thread(target=_feed, args=[cluster, pause], daemon=True)
    feeding.start()
    until(lambda: len(cluster.said) > 5 and _is_answered(cluster.said[-1]))
    recoveries = {}
    for part, kill in kills.items():
        until(cluster.is_whole)
        began = time.monotonic()
        kill(cluster)
        print(f"{part} killed after {len(cluster.said)} messages", file=sys.stderr)
        recoveries[part] = _recovered(cluster) - began
    cluster.is_over.set()
    feeding.join()
    finished = until(lambda: all(map(_is_answered, cluster.said)))
    return _count(cluster) | _verdict(cluster, recoveries, finished, most)


def _feed(cluster: Cluster, pause: float) -> None:
    """Say one message after the other; what was not taken in is said again, as a channel does."""
    from memory.chats import inbox
    from memory.chats import service as chats
    from memory.models import Space

    settings = {"batch_silence": 0, "batch_size": 1}
    space = Space.objects.create(name="Cluster", slug="cluster", settings=settings)
    rooms = [chats.find_or_open(space, channel="chaos", external_id=n) for n in range(10)]
    for n in count(1):
        text = f"Please keep parcel {n} in rack {n}"
        _insist(
            lambda n=n, text=text: inbox.receive(
                rooms[n % len(rooms)], text=text, external_id=n, author="Ana"
            )
        )
        cluster.said.append(n)
        # In each chat somebody waits for the answer, as people do.
        until(lambda n=n: n <= len(rooms) or _is_answered(n - len(rooms)))
        if n >= cluster.messages and cluster.is_over.wait(pause):
            return
        time.sleep(pause)


def _insist(act: Callable[[], Any]) -> Any:
    """Do it until a database takes it."""
    from django.db import Error, connections

    while True:
        try:
            return act()
        except Error:
            connections.close_all()
            time.sleep(0.2)


def _kill_worker(cluster: Cluster) -> None:
    bot = cluster.bots[0]
    bot.process.kill()
    bot.process.wait()
    cluster.bots[0] = Bot(bot.sink)


def _kill_web(cluster: Cluster) -> None:
    cluster.webs[0].kill()
    cluster.webs[0].start()


def _kill_replica(cluster: Cluster) -> None:
    _kill_server(cluster.homes[1])
    embedded_postgres.start(cluster.homes[1])


def _kill_primary(cluster: Cluster) -> None:
    _kill_server(cluster.homes[0])
    here = place(cluster.homes[1])
    code, words = here.run("pg_ctl", "promote", "-s", "-w", "-D", here.data)
    if code:
        raise EmbeddedError(words)


PARTS = {
    "worker": _kill_worker,
    "web": _kill_web,
    "replica": _kill_replica,
    "primary": _kill_primary,
}


def _kill_server(home: Path) -> None:
    """As a power cut does: nothing is written any more."""
    pid = int((place(home).data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    until(lambda: not embedded_postgres.running(home))


def _recovered(cluster: Cluster) -> float:
    """When a message said from now on is answered and both web processes are ready."""
    next_one = len(cluster.said) + 1
    until(lambda: len(cluster.said) >= next_one and _is_answered(next_one))
    until(lambda: all(web.is_ready() for web in cluster.webs))
    return time.monotonic()


def _is_answered(n: int) -> bool:
    from memory.models import Message

    asked = Message.objects.filter(role="user", external_id=str(n)).exclude(handled_at=None)
    return _insist(asked.exists)


def until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.1)
    return False


def _count(cluster: Cluster) -> dict:
    from memory.models import Fact, Message

    replies = Message.objects.filter(role="assistant").values_list("reply_to_id", flat=True)
    heard = Message.objects.filter(role="user").exclude(handled_at=None)
    facts = Fact.objects.filter(text__icontains="parcel")
    twice = sum(times > 1 for times in Counter(replies).values())
    return {
        "acknowledged": len(cluster.said),
        "answered": heard.count(),
        "lost": len(set(map(str, cluster.said)) - set(heard.values_list("external_id", flat=True))),
        "doubled": twice + facts.filter(times_seen__gt=1).count(),
        "out_of_order": cluster.sink.inversions(),
    }


def _verdict(cluster: Cluster, recoveries: dict[str, float], finished: bool, most: float) -> dict:
    found, longest = _count(cluster), max(recoveries.values())
    well = finished and not (found["lost"] or found["doubled"] or found["out_of_order"])
    return {
        "recoveries_s": {part: round(seconds, 1) for part, seconds in recoveries.items()},
        "recovery_s": round(longest, 1),
        "passed": well and longest < most,
    }


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


if __name__ == "__main__":
    main()
