"""How well the built-in provider answers, over the demo and one LoCoMo conversation.

    python -m bench.answers --locomo FILE [--half tuned|reported] [--json OUT]

200 questions of our own in `answers.tsv`, half of them Spanish, a third without an answer in
memory. Every second one was used to fit the weights ("tuned"); the others are only reported. A
reply is right when it holds what the file says, also when it is hedged ("This may be it") and
quotes the evidence; wrong but certain when it answers something else without hedging.
"""

import argparse
import json
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import django

from bench import questions
from bench.fresh_database import fresh_database

FILE = Path(__file__).with_name("answers.tsv")
LOCOMO = "locomo"
CHATS = {
    "dev": "Studio",
    "familia": "Familia",
    "adrian": "Adrian",
    "lucia": "Lucía",
    "web": "Marta",
}


@dataclass(frozen=True)
class Asked:
    language: str
    place: str
    who: str
    text: str
    right: str
    half: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--half", choices=["tuned", "reported"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", action="store_true", help="print every reply")
    given = parser.parse_args()
    asked = [one for one in read() if given.half in (None, one.half)]
    with fresh_database("keno_answers_bench"):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        rows = measure(asked, places(given.locomo), show=given.show)
    print(table(rows))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False))


def read() -> list[Asked]:
    lines = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
    halves = ("tuned", "reported")
    return [Asked(*line.split("\t"), half=halves[n % 2]) for n, line in enumerate(lines)]


def places(locomo: Path) -> dict:
    """The chats of the demo and the conversation, each with the time at which it is asked."""
    from django.utils import timezone

    from bench.held import hold
    from kenoweb import demo
    from memory.extraction import ingest
    from memory.vectors import store

    now = timezone.now()
    space = demo.make(owners=[], now=now)
    found = {name: (space.chats.get(title=title), now) for name, title in CHATS.items()}
    held = hold(questions.locomo(locomo)[0], slug=LOCOMO)
    ingest.ingest_waiting(held.space, limit=5000)
    store.backfill(space=held.space)
    last = held.chat.messages.latest("sent_at").sent_at
    return found | {LOCOMO: (held.chat, last)}


def measure(asked: list[Asked], where: dict, *, show: bool = False) -> list[dict]:
    counts: dict[str, Counter] = {}
    for one in asked:
        said = answer(one, *where[one.place])
        kind = judged(one, said)
        for name in (one.language, "both"):
            counts.setdefault(name, Counter()).update([kind, "known" if one.right else "unknown"])
        if show:
            print(f"{kind:8} {one.half:8} {one.text} -> {said!r}")
    return [row(language, found) for language, found in sorted(counts.items())]


def answer(one: Asked, chat, now) -> str:
    """What the built-in provider says to the question of somebody in this chat."""
    from memory.llm.providers import offline
    from memory.models import Message
    from memory.prompt import builder

    mine = chat.messages.filter(author=one.who, role="user").first()
    author_id = mine.author_id if mine else ""
    message = Message(
        space=chat.space, chat=chat, author=one.who, author_id=author_id, text=one.text,
        role="user", pk=2**62,
    )  # fmt: skip
    built = builder.build(
        chat, one.text, now=now, person=one.who, group=[message], language=one.language, save=False
    )
    return offline.reply(built.briefing)


def judged(one: Asked, said: str) -> str:
    from memory.llm.providers.offline import PHRASES

    phrases = PHRASES[one.language]
    if said in (phrases["unknown"], phrases["world"]):
        return "missed" if one.right else "abstained"
    if one.right and re.search(one.right, said):
        return "right"
    hedges = tuple(phrases[name].split("\n")[0] for name in ("thought", "nearest"))
    return "hedged" if said.startswith(hedges) else "wrong"


def row(language: str, found: Counter) -> dict:
    return {
        "language": language,
        "questions": found["known"] + found["unknown"],
        "right": share(found["right"], found["known"]),
        "wrong_certain": share(found["wrong"], found["known"] + found["unknown"]),
        "abstained_unanswerable": share(found["abstained"], found["unknown"]),
    }


def share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


def table(rows: list[dict]) -> str:
    names = list(rows[0])
    lines = [[str(one[name]) for name in names] for one in rows]
    return "\n".join("  ".join(f"{cell:>22}" for cell in line) for line in [names, *lines])


if __name__ == "__main__":
    main()
