"""How long a night takes and what it finds of what was planted.

    python -m bench.night --episodes 10000 --json out.json

Makes a space of generated days in a database of its own, sleeps, holds the result against what was
planted, sleeps again (nothing may be added), and sleeps through the same days killed half way
(the result must be equal).

    python -m bench.night --spaces 1000 --json out.json

The hourly look and two workers over many spaces with a little to do each.
"""

import argparse
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

import django
from django.core.management import call_command
from django.db import connections

from bench.fresh_database import fresh_database

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, nargs="+", default=[1000])
    parser.add_argument("--spaces", type=int, default=0, help="so many spaces, a few episodes each")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", help="where to write the rows")
    parser.add_argument("--kills", type=int, default=3, help="kill -9 so often in the second space")
    parser.add_argument("--sleep-in", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sleep_in:
        _set_up()
        _sleep(given.sleep_in)
        return
    with fresh_database("keno_night_bench"):
        _set_up()
        call_command("migrate", verbosity=0)
        if given.spaces:
            rows = [_measure_many(given.spaces, seed=given.seed)]
        else:
            rows = [_measure(n, given) for n in given.episodes]
        connections.close_all()
    _print(rows)
    if given.json:
        with open(given.json, "w") as file:
            json.dump(rows, file, indent=1)


def _set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    django.setup()


def _measure(episodes: int, given) -> dict:
    from bench.night_data import world

    made = world(episodes, seed=given.seed, now=NOW)
    space = _space(f"bench-night-{episodes}-a", made)
    other = _space(f"bench-night-{episodes}-b", made)
    try:
        began, used = time.perf_counter(), _cpu()
        peak = _sleep_apart(space.slug)
        seconds, used = time.perf_counter() - began, _cpu() - used
        first = _state(space)
        _sleep(space.slug)
        again = _state(space)
        kills = _sleep_killed(other.slug, given.kills, seconds)
        return {
            "episodes": episodes,
            "messages": sum(len(day.said) for day in made.days),
            "seconds": round(seconds, 1),
            "cpu_seconds": round(used, 1),
            "peak_mb": round(peak),
            **_score(space, made.planted),
            "idempotent": first == again,
            "kills": kills,
            "equal_after_kills": _state(other) == first,
            "state": first[:16],
        }
    finally:
        for one in (space, other):
            one.delete()


def _measure_many(count: int, *, seed: int) -> dict:
    """Sleep through the nights of many spaces as an hourly look and two workers do."""
    from django.utils import timezone

    from bench.night_data import world
    from memory.models import Space
    from memory.operations import health
    from sleep import tasks
    from sleep.models import Night

    for n in range(count):
        _space(f"many-{n}", world(3, seed=seed + n, now=timezone.now()))
    Space.objects.update(settings={"sleep_hour": 0})
    env = os.environ | {"LOG_LEVEL": "error", "PROVIDER": "offline"}
    workers = [subprocess.Popen([sys.executable, "manage.py", "runbot"], env=env) for _ in "ab"]
    used = _cpu()
    try:
        _wait(lambda: health.living_workers(now=timezone.now()) == 2)
        looked = time.perf_counter()
        tasks.look(0)
        looking, done = time.perf_counter() - looked, Night.objects.filter(status="success")
        _wait(lambda: done.count() == count)
        seconds = time.perf_counter() - looked
    finally:
        for worker in workers:
            worker.terminate()
            worker.wait()
    return {
        "spaces": count,
        "look_seconds": round(looking, 1),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(_cpu() - used, 1),
        "nights_per_second": round(count / seconds, 1),
        "failed": Night.objects.exclude(status="success").count(),
    }


def _wait(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 3600
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit("The nights did not end within an hour.")
        time.sleep(0.2)


def _space(slug: str, made):
    from memory.models import Chat, Episode, Fact, Message, Space
    from memory.text.normalise import said_key

    Space.objects.filter(slug=slug).delete()
    space = Space.objects.create(
        name=slug, slug=slug, settings={"episodes_per_night": 100000, "retention_days": 3650}
    )
    chats = Chat.objects.bulk_create(
        Chat(space=space, channel="web", external_id=str(n), key=f"web-{n}") for n in range(40)
    )
    Fact.objects.bulk_create(
        Fact(space=space, subject=subject, text=text, said_key=said_key(text), quote=text,
             confidence=0.7, last_seen_at=at, created_at=at, valid_from=at, written_by="import")
        for subject, text, at in made.facts
    )  # fmt: skip
    days = [(day, chats[day.chat] if day.chat is not None else None) for day in made.days]
    episodes = Episode.objects.bulk_create(
        (
            Episode(space=space, chat=chat, status="closed", started_at=day.at, ended_at=day.at,
                    language=day.language, body="\n".join(one.text for one in day.said))
            for day, chat in days
        ),
        batch_size=1000,
    )  # fmt: skip
    Message.objects.bulk_create(
        (
            Message(space=space, chat=chat, episode=episode, role="user", author=one.author,
                    text=one.text, language=day.language, sent_at=day.at,
                    external_id=f"{episode.pk}-{n}")
            for (day, chat), episode in zip(days, episodes, strict=True)
            for n, one in enumerate(day.said)
        ),
        batch_size=1000,
    )  # fmt: skip
    return space


def _sleep(slug: str) -> None:
    from memory.models import Space
    from sleep import cycle

    cycle.sleep(Space.objects.get(slug=slug), now=NOW)


def _child(slug: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "bench.night", "--sleep-in", slug])


def _sleep_apart(slug: str) -> float:
    """Sleep in a process of its own; its peak memory in MB."""
    if _child(slug).wait() != 0:
        raise SystemExit("The night failed; its message stands above.")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _cpu() -> float:
    """Seconds of processor that ended children have used; the database's are not among them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _sleep_killed(slug: str, kills: int, seconds: float) -> int:
    """Kill it at growing points of its way, then let it finish; how often it was really killed."""
    from memory.models import Lease

    killed = 0
    for n in range(kills):
        child = _child(slug)
        try:
            child.wait(timeout=max(0.5, seconds * (n + 1) / (kills + 1)))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
            killed += 1
            # Who comes next need not wait until the lease of the dead has ended.
            Lease.objects.all().delete()
    _sleep(slug)
    return killed


def _state(space) -> str:
    """A hash of what the night left, by natural keys: ids and clock times stay out."""
    from memory.models import Fact, Pattern
    from sleep.models import Proposal

    rows = [
        *Fact.objects.filter(space=space).values_list(
            "text", "status", "chat__key", "confidence", "times_seen"
        ),
        *Pattern.objects.filter(space=space).values_list("trigger", "response", "status"),
        *(
            (one.kind, one.title, one.status, one.rationale, len(one.evidence), one.flags)
            for one in Proposal.objects.filter(space=space)
        ),
    ]
    return hashlib.sha256("\n".join(sorted(map(str, rows))).encode()).hexdigest()


def _score(space, planted) -> dict:
    from memory.models import Fact
    from sleep.models import NightChange, Proposal

    waiting = Proposal.objects.filter(space=space)
    subjects = dict(Fact.objects.filter(space=space).values_list("pk", "subject"))
    superseded = {subjects[p.targets[0]["id"]] for p in waiting.filter(kind="supersede")}
    merged = {subjects[p.after["keep"]] for p in waiting.filter(kind="merge")}
    lines = NightChange.objects.filter(night__space=space, kind="agreement")
    agreed = {name for name in planted.agreements for line in lines if name in line.text}
    strangers = sum(not any(name in line.text for name in planted.agreements) for line in lines)
    proposed = {p.after.get("subject") for p in waiting.filter(kind="add", after__kind="fact")}
    solved = {
        word
        for p in waiting.filter(kind="add_pattern")
        for word in planted.troubles
        if f"{word} " in f"{p.title} "
    }
    return {
        **_pr("contradictions", superseded, planted.contradictions),
        **_pr("duplicates", merged, planted.duplicates),
        **_pr("agreements", agreed, planted.agreements, strangers=strangers),
        **_pr("pairs", proposed, planted.pairs),
        **_pr("solutions", solved, planted.troubles),
        "poison_promoted": _leaks(space, planted.poison),
        "private_promoted": _leaks(space, planted.private, shared_only=True),
    }


def _pr(name: str, found: set, planted: set, *, strangers: int = 0) -> dict:
    right, wrong = len(found & planted), len(found - planted) + strangers
    return {
        f"{name}_planted": len(planted),
        f"{name}_precision": round(right / (right + wrong), 3) if right + wrong else 1.0,
        f"{name}_recall": round(right / len(planted), 3) if planted else 1.0,
    }


def _leaks(space, canaries: list[str], *, shared_only: bool = False) -> int:
    """How many of these words stand in a fact or pattern the whole space, or anyone, would see."""
    from memory.models import Fact, Pattern
    from sleep.models import Proposal

    facts = Fact.objects.filter(space=space, status="active")
    patterns = Pattern.objects.filter(space=space, status="active")
    if shared_only:
        facts, patterns = facts.filter(chat=None), patterns.filter(chat=None)
    texts = [*facts.values_list("text", flat=True), *patterns.values_list("response", flat=True)]
    if not shared_only:
        texts += [
            json.dumps(one)
            for one in Proposal.objects.filter(space=space).values_list("after", flat=True)
        ]
    return sum(any(canary in text for text in texts) for canary in canaries)


def _print(rows: list[dict]) -> None:
    for name in rows[0]:
        print(f"{name:<26}" + "".join(f"{row[name]!s:>12}" for row in rows))


if __name__ == "__main__":
    main()
