"""Talks of people who have never seen Keno, told and asked through the real bot.

    python -m bench.stranger FILE... [--show] [--json OUT]

A line of a file is `say`, `ask` or `no`, the text, and for `ask` what an answer must hold (several
spellings, parted by |); `no` is a question that nobody told the answer of. Let somebody else write
the files: what one writes oneself, Keno has heard before. An answer that is hedged counts apart:
thought ("This may be it"; misled where it is not) and nearest ("the nearest I have"). Wrong is
what is said for certain and holds something else. Of each `ask` it is also counted whether a model
would have had the answer to read ("prompted"), and how many memories it would have read ("read").
"""

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import django

from bench.fresh_database import fresh_database

KINDS = ("answered", "thought", "nearest", "missed", "misled", "wrong")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--show", action="store_true", help="print what was kept and replied")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with fresh_database("keno_stranger_bench"):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        rows = [talk(file, show=given.show) for file in given.files]
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False))


def talk(file: Path, *, show: bool) -> dict:
    """How often one person's questions were answered, in a space of their own."""
    from memory.models import Fact

    chat, now, counts = chat_of(file), start(), Counter()
    for kind, text, expected in lines(file):
        now += timedelta(hours=3)
        before = set(Fact.objects.filter(space=chat.space).values_list("pk", flat=True))
        reply = say(chat, text, now=now)
        if kind != "say":
            verdict = judged(reply, expected)
            counts[f"{kind} {verdict}"] += 1
        if kind == "ask":
            prompt = recalled(chat)
            counts["prompted"] += any(holds(memory, expected) for memory in prompt)
            counts["read"] += len(prompt)
        if show:
            new = Fact.objects.filter(space=chat.space).exclude(pk__in=before)
            kept = [f"{one.status}: {one.text}" for one in new]
            print(f"{kind:4}{text}")
            print(f"      kept {kept}" if kind == "say" else f"      {verdict} -> {reply!r}")
    kept = Fact.objects.live().filter(space=chat.space).count()
    rows = {f"{kind} {one}": counts[f"{kind} {one}"] for kind in ("ask", "no") for one in KINDS}
    asks = sum(count for name, count in counts.items() if name.startswith("ask "))
    rows |= {"prompted": counts["prompted"], "read": round(counts["read"] / max(asks, 1), 1)}
    return {"talk": file.stem, "facts": kept, **rows}


def lines(file: Path) -> Iterator[tuple[str, str, str]]:
    for line in file.read_text().splitlines():
        kind, text, expected = [*line.split("\t"), "", ""][:3]
        if kind in ("say", "ask", "no"):
            yield kind, text, expected


def chat_of(file: Path):
    """A chat in a space of its own."""
    from memory.models import Chat, Space

    slug = f"stranger-{file.stem}".replace("_", "-")
    space = Space.objects.create(name=file.stem, slug=slug, language=file.stem[:2])
    return Chat.objects.create(space=space, channel="console", external_id=slug, key=slug)


def start() -> datetime:
    from django.utils import timezone

    return timezone.now().replace(hour=8, minute=0) - timedelta(days=21)


def say(chat, text: str, *, now: datetime) -> str:
    """What Keno replies; it has learned from it afterwards."""
    from bot import turn
    from memory import tasks
    from memory.chats import inbox
    from memory.models import Message

    message = inbox.receive(chat, text=text, author="Sam", now=now)
    turn.answer(message.pk, now=now + timedelta(seconds=2))
    reply = Message.objects.get(reply_to=message)
    tasks.ingest.func(message_ids=[message.pk], reply_id=reply.pk, space_id=chat.space_id)
    return reply.text


def recalled(chat) -> list[str]:
    """The memories that the last question put before a model, or that stand in its talk already."""
    from memory.models import Recall, RecallItem

    items = Recall.objects.filter(chat=chat).latest("at", "pk").items
    items = items.select_related("fact", "episode", "message")
    there = (one for one in items.all() if one.injected or one.cut == RecallItem.Cut.SEEN)
    return [_words(one.fact or one.message or one.episode) for one in there]


def _words(memory) -> str:
    return getattr(memory, "body", "") or getattr(memory, "text", "")


def holds(words: str, expected: str) -> bool:
    return any(one.strip() in words.lower() for one in expected.lower().split("|"))


def judged(reply: str, expected: str) -> str:
    from memory.llm.providers.offline import PHRASES

    def begins(name: str) -> bool:
        first_lines = (told[name].split("\n")[0] for told in PHRASES.values())
        return reply.startswith(tuple(first_lines))

    if expected and holds(reply, expected):
        return next((name for name in ("thought", "nearest") if begins(name)), "answered")
    if begins("thought"):
        return "misled"
    if begins("nearest"):
        return "nearest" if not expected else "missed"
    return "missed" if begins("unknown") or begins("world") else "wrong"


if __name__ == "__main__":
    main()
