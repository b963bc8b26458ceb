"""What Keno makes of a week without a language model: facts, episodes and proposals, to be read.

    python -m bench.week --days 7 --json out.json
    python -m bench.week --story FILE

Plays the people's lines of the demo's story, or of a file in its form, day by day through the real
services with a night after each day. Nothing is judged here: somebody reads what it prints.
"""

import argparse
import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from django.core.management import call_command
from django.db import connections

from bench.fresh_database import fresh_database
from bench.night import _set_up

NOW = datetime(2026, 11, 15, 18, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=7, help="how many of the last days")
    parser.add_argument("--story", help="a file in the form of kenoweb/demo/story.txt")
    parser.add_argument("--json", help="where to write what is printed")
    given = parser.parse_args()
    with fresh_database("keno_week_bench"):
        _set_up()
        call_command("migrate", verbosity=0)
        told = _live(given)
        connections.close_all()
    for name, rows in told.items():
        print(f"\n{name} ({len(rows)})")
        for row in rows:
            print("  " + " | ".join(str(value) for value in row.values()))
    if given.json:
        Path(given.json).write_text(json.dumps(told, indent=1, ensure_ascii=False))


def _live(given) -> dict[str, list[dict]]:
    from django.contrib.auth.models import User

    from kenoweb import demo
    from memory.extraction import tags

    told = Path(given.story).read_text() if given.story else demo.STORY.read_text()
    space, life = demo.begin([User.objects.create_user("owner")], now=NOW)
    lines = (line for line in demo.read(told, now=NOW) if line.chat in demo.CHATS)
    # The same without what a model would have written to memory.
    lines = [
        replace(line, text=tags.split(line.text).text) for line in lines if line.day <= given.days
    ]
    for day, some in groupby(lines, key=lambda line: line.day):
        life.live(list(some))
        life.sleep(day, now=NOW)
    return {"Facts": _facts(space), "Episodes": _episodes(space), "Nights": _nights(space)} | {
        "Proposals": _proposals(space)
    }


def _facts(space) -> list[dict]:
    fields = ("status", "chat__title", "subject", "text", "kind", "category", "confidence", "quote")
    return list(space.facts.order_by("pk").values(*fields))


def _episodes(space) -> list[dict]:
    return [
        {"chat": str(one.chat), "title": one.title, "tags": one.tags, "body": one.body}
        for one in space.episodes.order_by("pk")
    ]


def _nights(space) -> list[dict]:
    from sleep.models import shown

    return [
        {
            "date": str(night.local_date),
            "changes": [f"{one.kind}: {one.text}" for one in night.changes.all()],
            "insights": [shown(line) for line in night.reflection.insights],
        }
        for night in space.nights.order_by("pk")
    ]


def _proposals(space) -> list[dict]:
    fields = ("kind", "status", "title", "rationale", "after", "flags", "confidence")
    return list(space.proposals.order_by("pk").values(*fields))


if __name__ == "__main__":
    main()
