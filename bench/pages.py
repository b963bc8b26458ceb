"""How fast every list page answers over a large memory, and how many queries it takes.

    python -m bench.pages --facts 100000 --episodes 20000 --json out.json

Fills a database of its own with made-up memory, asks for every page as the owner through Django's
whole stack (middleware, view, template), and prints the median, the slow end and the time of our
own process in it: the rest is Postgres, and waiting. Warm: each page was asked for once before.
`alone` is the slow end less what our process and its Postgres waited for a processor that other
programs had; Linux knows that, and elsewhere it is the slow end itself.
`--keep` leaves the space in the database of DATABASE_URL and takes it
from there the next time.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import django

from bench.fresh_database import fresh_database
from bench.measures import percentile

GOAL = 150
OWN_STATIC = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
# What is asked for: a name for it, the page, and its query with what the space holds filled in.
LISTS = [
    ("overview", "overview:index", ""),
    ("facts", "facts:index", ""),
    ("facts, any state", "facts:index", "status=any"),
    ("facts, 20,000 rows down", "facts:index", "status=any&after={deep}"),
    ("facts, a common word", "facts:index", "q=coffee"),
    ("facts, two words", "facts:index", "q=coffee+madrid"),
    ("facts, a rare word", "facts:index", "q=w1f3"),
    ("facts, a word begun", "facts:index", "q=cof"),
    ("facts, a word in any state", "facts:index", "q=coffee&status=any"),
    ("facts, words nobody said", "facts:index", "q=zebra+opera"),
    ("facts, not in words", "facts:index", "q=%3D%3D"),
    ("facts about somebody", "facts:index", "subject=Ana+A."),
    ("facts of a kind and category", "facts:index", "kind=lesson&category=project"),
    ("facts of a chat", "facts:index", "chat={chat}"),
    ("facts, unsure", "facts:index", "sure=low"),
    ("facts, never used", "facts:index", "unused=never"),
    ("facts, forgotten", "facts:index", "status=archived"),
    ("facts, older than a year", "facts:index", "since=older-365d"),
    ("facts by used", "facts:index", "sort=used"),
    ("facts by new", "facts:index", "sort=new"),
    ("facts by sure", "facts:index", "sort=sure"),
    ("facts by unsure", "facts:index", "sort=unsure"),
    ("facts by subject", "facts:index", "sort=subject"),
    ("facts as of a day", "facts:index", "as_of={past}"),
    ("facts as of a day, a word", "facts:index", "as_of={past}&q=coffee"),
    ("episodes by day", "episodes:index", ""),
    ("episodes as a list", "episodes:index", "look=list"),
    ("episodes, a common word", "episodes:index", "q=coffee"),
    ("episodes, a rare word", "episodes:index", "q=w1f3"),
    ("episodes with a tag", "episodes:index", "tag=coffee"),
    ("episodes, with somebody", "episodes:index", "who=Ana+A."),
    ("episodes, discarded", "episodes:index", "state=discarded"),
    ("episodes as of a day", "episodes:index", "as_of={past}"),
    ("chats", "chats:index", ""),
    ("patterns", "patterns:index", ""),
    ("working notes", "working:index", ""),
    ("rulings", "rulings:index", ""),
    ("quarantine", "quarantine:index", ""),
    ("trash", "trash:index", ""),
    ("proposals", "proposals:index", ""),
    ("nights", "nights:index", ""),
    ("receipts", "recall:receipts", ""),
    ("receipts, a word", "recall:receipts", "q=coffee"),
    ("receipts, a word nobody said", "recall:receipts", "q=zebra"),
    ("receipts of a fact", "recall:receipts", "fact={fact}"),
    ("recall lab", "recall:lab", ""),
    ("audit", "audit:index", ""),
    ("audit, words", "audit:index", "q=purged"),
    ("audit, words nobody wrote", "audit:index", "q=zebra"),
    ("costs", "costs:index", ""),
    ("costs of a year", "costs:index", "period=year"),
    ("notices", "notices:index", "show=all"),
    ("dead letters", "dead_letters:index", ""),
    ("health", "health:index", ""),
    ("map", "map:index", ""),
    ("identity", "identity:index", ""),
    ("members", "members:index", ""),
    ("search", "search:index", "q=coffee"),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--episodes", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=40, help="ask for each page so often")
    parser.add_argument("--only", default="", help="pages whose name has this in it")
    parser.add_argument("--keep", action="store_true", help="keep the space for the next run")
    parser.add_argument("--json", help="where to write the rows")
    given = parser.parse_args()
    with _house(given):
        rows = _measure(given)
    print(table(rows))
    if given.json:
        with open(given.json, "w") as file:
            json.dump(rows, file, indent=1)
    slow = [row["page"] for row in rows if row["p95_ms"] > GOAL]
    alone = [row["page"] for row in rows if row["alone_ms"] > GOAL]
    print(f"\nSlower than {GOAL} ms: {', '.join(slow)}" if slow else f"\nAll within {GOAL} ms.")
    if slow:
        print(f"Alone as well: {', '.join(alone) or 'none'}")
    return 1 if slow else 0


@contextmanager
def _house(given: argparse.Namespace) -> Iterator[None]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    if given.keep:
        django.setup()
        yield
        return
    with fresh_database("keno_pages"):
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        yield
        django.db.connections.close_all()


def _measure(given: argparse.Namespace) -> list[dict]:
    from django.contrib.auth.models import User
    from django.test import Client, override_settings

    import_module("kenoweb.wsgi")  # as it is served: with what that sets up for the process
    now = datetime.now(UTC)
    space = fill(facts=given.facts, episodes=given.episodes, now=now)
    with override_settings(STORAGES=OWN_STATIC, ALLOWED_HOSTS=["testserver"]):
        client = Client(raise_request_exception=True)
        client.force_login(User.objects.get(username="bench"))
        return [
            _ask(client, name, url, times=given.times)
            for name, url in addresses(space, now=now)
            if given.only in name
        ]


def fill(*, facts: int, episodes: int, now: datetime):
    """The space with so many of them; one that is there already is taken as it is."""
    from bench import pages_data
    from memory.models import Space
    from memory.vectors import store as embeddings

    if left := Space.objects.filter(slug="bench").first():
        return left
    began = time.perf_counter()
    with pages_data.without_indexes():
        space = pages_data.fill(facts=facts, episodes=episodes, now=now, say=print)
        if embedder := embeddings.active():
            print("vectors")
            pages_data.give_vectors(space, embedder)
        print("indexes")
    pages_data.settle()
    print(f"filled in {time.perf_counter() - began:.0f} s\n")
    return space


def addresses(space, *, now: datetime) -> list[tuple[str, str]]:
    """(name, address) of every list, and of the pages that open from one."""
    from django.urls import NoReverseMatch, reverse

    found = []
    for label, name, query, which in _asked(space, now=now):
        try:
            url = reverse(name, kwargs={"space": space.slug} | which)
        except NoReverseMatch:  # a page that this version does not have
            continue
        found.append((label, f"{url}?{query}" if query else url))
    return found


def _asked(space, *, now: datetime) -> list[tuple[str, str, str, dict]]:
    from kenoweb.ui.list_page import Order, part
    from memory.models import Fact, Recall
    from sleep.models import Night

    chat = {"pk": space.chats.order_by("pk").first().pk}
    fact = space.facts.filter(status="active").order_by("pk")[space.facts.count() // 2]
    episode = {"pk": space.episodes.order_by("pk").first().pk}
    deep = part(Fact.objects.filter(space=space), order=Order("updated_at"), size=20_000).after
    past = (now - timedelta(days=200)).date().isoformat()
    known = {"chat": chat["pk"], "fact": fact.pk, "deep": deep, "past": past}
    lists = [(label, name, query.format(**known), {}) for label, name, query in LISTS]
    night = Night.objects.filter(space=space).order_by("pk").first()
    receipt = Recall.objects.filter(space=space).order_by("pk").first()
    opened = [
        ("one fact", "facts:detail", {"pk": fact.pk}),
        ("one episode", "episodes:detail", episode),
        ("one chat", "chats:detail", chat),
        ("facts from a chat", "chats:facts", chat),
        ("one night", "nights:detail", {"pk": night.pk}),
        ("one receipt", "recall:receipt", {"pk": receipt.pk}),
    ]
    return lists + [(label, name, "", pk) for label, name, pk in opened]


def _ask(client, name: str, url: str, *, times: int) -> dict:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as asked:
        first = client.get(url)
    queries = len(asked)
    if first.status_code != 200:
        raise SystemExit(f"{url} answered {first.status_code}.")
    workers = [os.getpid(), connection.connection.info.backend_pid]
    took, alone, own = [], [], time.process_time()
    for _time in range(times):
        waited, began = sum(map(_waited, workers)), time.perf_counter()
        client.get(url)
        took.append((time.perf_counter() - began) * 1000)
        alone.append(took[-1] - sum(map(_waited, workers)) + waited)
    own = (time.process_time() - own) * 1000 / times
    return {
        "page": name,
        "p50_ms": percentile(took, 50),
        "p95_ms": percentile(took, 95),
        "alone_ms": percentile(alone, 95),
        "own_ms": round(own, 1),
        "queries": queries,
        "kb": round(len(first.content) / 1024),
    }


def _waited(pid: int) -> float:
    """Milliseconds a process was ready to run and was not let."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e6
    except (OSError, IndexError):  # not Linux, or Postgres is elsewhere
        return 0.0


def table(rows: list[dict]) -> str:
    names = ("p50_ms", "p95_ms", "alone_ms", "own_ms")
    heads = "".join(f"{name.replace('_', ' '):>10s}" for name in names)
    lines = []
    for row in rows:
        times = "".join(f"{row[name]:10.1f}" for name in names)
        lines.append(f"{row['page']:34s}{times}{row['queries']:9d}{row['kb']:6d}")
    head = f"{'':34s}{heads}{'queries':>9s}{'KB':>6s}"
    return "\n".join([head, *lines])


if __name__ == "__main__":
    raise SystemExit(main())
