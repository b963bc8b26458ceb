"""Many people in the dashboard while others talk to the bot: how long pages take, what fails.

    python -m bench.crowd --users 20 --rate 5 --seconds 60 --json OUT

A real web server and a real worker over a large memory of their own (`--template` names a database
that bench.pages has filled and kept). Every user opens a page of bench.pages, reads it for a few
seconds and opens the next; messages come in at a steady rate in many chats and are answered.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from datetime import UTC, datetime

import django
import httpx

from bench.fresh_database import fresh_database
from bench.measures import percentile
from bench.pages import addresses, fill

GOAL = 300
READING = (2, 6)
SAID = ("The meeting about project {n} was moved to Friday", "¿Qué sabes del proyecto {n}?")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--rate", type=float, default=5, help="messages a second")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--episodes", type=int, default=20_000)
    parser.add_argument("--template", default="template1", help="a database to start from")
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    random.seed(1)
    os.environ["PROVIDER"] = "offline"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with fresh_database("keno_crowd", template=given.template):
        found = run(given)
        django.db.connections.close_all()
    print(json.dumps(found, indent=2))
    if given.json:
        with open(given.json, "w") as out:
            json.dump(found, out, indent=2)
    return 0 if found["passed"] else 1


def run(given: argparse.Namespace) -> dict:
    django.setup()
    from kenoweb import data_dir
    from kenoweb.launcher import startup

    data_dir.prepare(data_dir.path())
    startup.migrate()
    startup.collect_static()
    now = datetime.now(UTC)
    space = fill(facts=given.facts, episodes=given.episodes, now=now)
    pages = addresses(space, now=now)
    with _house() as address:
        _warm(address, pages)
        crowd = Crowd(address, pages, until=time.monotonic() + given.seconds)
        people = [threading.Thread(target=crowd.look_around) for _ in range(given.users)]
        for person in people:
            person.start()
        talk = _talk(space, rate=given.rate, until=crowd.until)
        for person in people:
            person.join()
        return crowd.told() | talk | _verdict(crowd, talk)


class Crowd:
    """People who look at one page after the other until it is time to go."""

    def __init__(self, address: str, pages: list[tuple[str, str]], *, until: float):
        self.address, self.pages, self.until = address, pages, until
        self.took: dict[str, list[float]] = defaultdict(list)
        self.failed: list[str] = []

    def look_around(self) -> None:
        time.sleep(random.uniform(0, READING[1]))
        with _client(self.address) as client:
            while time.monotonic() < self.until:
                self._open(client, *random.choice(self.pages))
                time.sleep(random.uniform(*READING))

    def _open(self, client: httpx.Client, name: str, url: str) -> None:
        began = time.perf_counter()
        try:
            status = client.get(url).status_code
        except httpx.HTTPError as error:
            status = type(error).__name__
        self.took[name].append((time.perf_counter() - began) * 1000)
        if status != 200:
            self.failed.append(f"{name}: {status}")

    def told(self) -> dict:
        every = [ms for times in self.took.values() for ms in times]
        slowest = sorted(self.took, key=lambda name: -max(self.took[name]))[:5]
        return {
            "pages": len(every),
            "p50_ms": percentile(every, 50),
            "p95_ms": percentile(every, 95),
            "max_ms": round(max(every)),
            "slowest": {name: round(max(self.took[name])) for name in slowest},
            "failed": self.failed,
        }


@contextmanager
def _house():
    """The web server and the worker, as `make run` starts them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        bind = f"127.0.0.1:{free.getsockname()[1]}"
    env = os.environ | {"KENO_BIND": bind, "LOG_LEVEL": "error"}
    serve = ["-m", "gunicorn", "--config", "kenoweb/launcher/gunicorn.py", "kenoweb.wsgi"]
    commands = [serve, ["manage.py", "runbot"]]
    running = [subprocess.Popen([sys.executable, *one], env=env) for one in commands]
    try:
        yield f"http://{bind}"
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)


def _warm(address: str, pages: list[tuple[str, str]]) -> None:
    """Until it answers, and each process of the server has most likely opened every page."""
    with _client(address) as client:
        deadline = time.monotonic() + 60
        while True:
            try:
                client.get("/healthz")
                break
            except httpx.HTTPError:
                if time.monotonic() > deadline:
                    sys.exit("The web server does not answer.")
                time.sleep(0.2)
    for _connection in range(6):  # each stays with the process that took it
        with _client(address) as client:
            for _name, url in pages:
                client.get(url)


def _client(address: str) -> httpx.Client:
    """Somebody who has signed in."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    browser = Client()
    browser.force_login(User.objects.get(username="bench"))
    name = settings.SESSION_COOKIE_NAME
    return httpx.Client(
        base_url=address, cookies={name: browser.cookies[name].value}, timeout=30, trust_env=False
    )


def _talk(space, *, rate: float, until: float) -> dict:
    from memory.chats import inbox
    from memory.chats import service as chats
    from memory.models import Message

    rooms = [chats.find_or_open(space, channel="web", external_id=f"crowd-{n}") for n in range(40)]
    said = []
    while time.monotonic() < until:
        text = random.choice(SAID).format(n=len(said))
        said.append(
            inbox.receive(rooms[len(said) % len(rooms)], text=text, author="Ana", silence=0).pk
        )
        time.sleep(random.uniform(0, 2 / rate))
    waiting = Message.objects.filter(pk__in=said, handled_at=None)
    deadline = time.monotonic() + 60
    while waiting.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    return {"said": len(said), "unanswered": waiting.count()}


def _verdict(crowd: Crowd, talk: dict) -> dict:
    fast = crowd.told()["p95_ms"] <= GOAL
    return {"passed": fast and not crowd.failed and not talk["unanswered"]}


if __name__ == "__main__":
    raise SystemExit(main())
