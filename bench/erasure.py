"""How long erasing a person takes, whether a word is left, and how far a poison goes.

    python -m bench.erasure [--messages N] [--others N] [--poisons N] [--nights N] [--json OUT]

Erasing: a person with so many messages, and facts of every fifth, talks among others; afterwards
every table is searched for the marks in their words, and everything of the others must be there.
Poison: so many planted messages, each said among clean ones, are learned from, merged, summed up
and slept over; then their source is discarded. `descendants_left` counts live rows that hold a
poison, `clean_lost` clean facts that are gone, `poison_in_replies` replies to the same questions
afterwards whose prompt holds one.
"""

import argparse
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.core.management import call_command
from django.db import connection, connections

from bench.fresh_database import fresh_database
from bench.night import _set_up

NOW = datetime(2026, 11, 15, 18, tzinfo=UTC)
MARK, THEIRS = "qzx-mine", "qzx-theirs"


def erasing(messages: int, others: int) -> dict:
    """Erase one person among others; seconds, rows, and what is left of either."""
    from memory.models import Entity, Message
    from memory.operations import erasing as service

    space = _talk(messages, others)
    before = _found(THEIRS)
    entity = Entity.objects.get(space=space, name="Rosa")
    began, used = time.perf_counter(), time.process_time()
    asked = service.start(space, "person", entity, typed="Rosa", by="person:bench")
    service.run(asked)
    seconds = time.perf_counter() - began
    kept = Message.objects.filter(space=space, text__contains=THEIRS).count()
    return {
        "messages": messages,
        "seconds": round(seconds, 1),
        "of_our_own": round(time.process_time() - used, 1),
        "rows": sum(asked.counts.values()),
        "left": _found(MARK),
        "others_lost": others - kept,
        "others_rows_before": before,
        "others_rows_after": _found(THEIRS),
    }


def _talk(messages: int, others: int):
    from memory.models import Chat, Entity, Fact, Mention, Message, Space
    from memory.text.normalise import said_key

    space = Space.objects.create(name="Bench", slug="bench-erase")
    chat = Chat.objects.create(space=space, channel="telegram", external_id="1", key="telegram-1")
    rosa = Entity.objects.create(space=space, name="Rosa", accounts=["telegram:7"])
    tom = Entity.objects.create(space=space, name="Tom", accounts=["telegram:8"])
    for entity, number, count, mark in ((rosa, "7", messages, MARK), (tom, "8", others, THEIRS)):
        said = Message.objects.bulk_create(
            [
                Message(
                    space=space, chat=chat, role="user", author=entity.name, author_id=number,
                    external_id=f"{number}-{n}", sent_at=NOW - timedelta(minutes=count - n),
                    text=f"{entity.name} tells about thing {n} of {mark} on a day", not_recalled="",
                )
                for n in range(count)
            ],
            batch_size=1000,
        )  # fmt: skip
        known = Fact.objects.bulk_create(
            [
                Fact(
                    space=space, chat=chat, subject=entity.name, message=one, quote=one.text,
                    text=f"{entity.name} has thing {n} of {mark}",
                    said_key=said_key(f"{entity.name} has thing {n} of {mark}"),
                )
                for n, one in enumerate(said[::5])
            ],
            batch_size=1000,
        )  # fmt: skip
        Mention.objects.bulk_create(
            [Mention(fact=fact, entity=entity, role="about") for fact in known]
        )
    return space


def _found(mark: str) -> int:
    """How many rows of all tables hold the mark."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        counts = [
            f"""SELECT count(*) FROM "{name}" t WHERE t::text ILIKE '%%{mark}%%'"""
            for name in tables
        ]
        cursor.execute(f"SELECT sum(n) FROM ({' UNION ALL '.join(counts)}) AS c(n)", [])
        return int(cursor.fetchone()[0])


def poison(poisons: int, nights: int) -> dict:
    """Plant, sleep, discard the source, and look for what is left."""
    from memory import lineage
    from memory.models import Fact, Message

    space, chats = _poisoned(poisons)
    for night in range(nights):
        _sleep_over(space, NOW + timedelta(days=night))
    before = _live(space)
    bad = Message.objects.filter(space=space, author="Eve").values_list("pk", flat=True)
    clean = set(Fact.objects.live().filter(space=space).exclude(text__icontains="zebra"))
    lineage.discard(space, {("message", pk) for pk in bad}, by="person:bench")
    _sleep_over(space, NOW + timedelta(days=nights))
    still = set(Fact.objects.live().filter(space=space))
    return {
        "poisons": poisons,
        "rows_before": before,
        "descendants_left": _live(space),
        "clean_lost": len([fact for fact in clean if fact not in still]),
        "poison_in_replies": _in_replies(space, chats, poisons),
    }


def _poisoned(poisons: int):
    from memory.extraction import ingest
    from memory.models import Chat, Message, Space

    space = Space.objects.create(name="Poison", slug="bench-poison")
    chats = []
    for number in range(max(1, poisons // 10)):
        chat = Chat.objects.create(
            space=space, channel="telegram", external_id=f"p{number}", key=f"telegram-p{number}"
        )
        chats.append(chat)
        for n in range(number * 10, min(poisons, number * 10 + 10)):
            for who, words in (
                ("Ana", f"I like the lake number {n} in summer"),
                ("Eve", f"My account number is zebra {n} in the bank"),
                ("Eve", f"My account is zebra {n} at the bank"),
            ):
                Message.objects.create(
                    space=space, chat=chat, role="user", author=who, author_id=who, text=words,
                    external_id=f"{who}-{n}-{len(words)}", language="en",
                    sent_at=NOW - timedelta(hours=30) + timedelta(minutes=n),
                )  # fmt: skip
        ingest.ingest_waiting(space, chat=chat)
    return space, chats


def _sleep_over(space, now: datetime) -> None:
    """Close what is open, sum up what is old, merge what says the same, and sleep."""
    from memory.episodes import grouping
    from memory.episodes import service as episodes
    from memory.facts import bulk
    from memory.models import Episode, Fact, Message
    from sleep import cycle

    for message in Message.objects.filter(space=space, episode=None).order_by("sent_at", "pk"):
        episodes.follow(message)
    for episode in Episode.objects.filter(space=space, status="open"):
        episodes.close(episode, by="system", now=now)
    cycle.sleep(space, now=now)
    for chat in space.chats.all():
        closed = list(Episode.objects.filter(space=space, chat=chat, status="closed")[:2])
        if len(closed) == 2:
            grouping.summarise(closed, by="night", now=now)
        same = Fact.objects.live().filter(space=space, chat=chat, text__icontains="zebra")
        pks = list(same.values_list("pk", flat=True)[:2])
        if len(pks) == 2:
            bulk.merge(space, pks, by="person:bench")


def _live(space) -> int:
    from memory.models import Unit

    live = Unit.objects.filter(space=space, live=True)
    return live.extra(where=["words::text ILIKE '%%zebra%%'"]).count()


def _in_replies(space, chats: list, poisons: int) -> int:
    """How many questions still get a poison into their prompt."""
    from memory.retrieval.recall import recall

    found = 0
    for number in range(poisons):
        chat = chats[min(number // 10, len(chats) - 1)]
        got = recall(space, f"What is the account zebra {number}?", chat=chat, save=False)
        found += any("zebra" in item.unit.text.casefold() for item in got.items)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--others", type=int, default=5000)
    parser.add_argument("--poisons", type=int, default=200)
    parser.add_argument("--nights", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with fresh_database("keno_bench_erasure"):
        _set_up()
        call_command("migrate", verbosity=0)
        figures = {
            "erasing": erasing(given.messages, given.others) if given.messages else {},
            "poison": poison(given.poisons, given.nights) if given.poisons else {},
        }
        connections.close_all()
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
