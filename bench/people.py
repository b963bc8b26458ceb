"""Whether a fact is kept under the right person, nobody is merged, and all about one is found.

    python -m bench.people [--locomo FILE] [--conversations N] [--json OUT]

The demo is lived through once; its facts were marked by hand with whom they are about, by words of
the line they come from. Of LoCoMo the turns are said in chats of one space; whom a turn is about is
what its annotators noted of it, where they noted one speaker only. A relative counts as right when
they are that speaker's. right_person is the share of marked facts under the right person;
false_merges counts people who hold facts of two chats without an account, and rows that were merged
though nobody did; complete is the share of the marked facts of three people that their page shows.
"""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

from django.core.management import call_command
from django.db import connections

from bench.fresh_database import fresh_database
from bench.night import _set_up

NOW = datetime(2026, 11, 15, 18, tzinfo=UTC)
LOCOMO = Path(__file__).parents[2] / "shared" / "bench" / "locomo_dev.json"
# Chat, words of the line, whom what it says is about.
MARKS = """
dev | short answers | Adrian
dev | deploys after 22:00 | Adrian
familia | Vivo en Guadalajara | Adrian
familia | Trabajo desde casa | Adrian
familia | cenar temprano | Adrian
familia | Me mudé a Ciudad de México | Adrian
familia | cerca del Parque México | Adrian
familia | un asador | Adrian
familia | el mole de mi suegra | Adrian
adrian | America/Mexico_City | Adrian
adrian | five kilometres | Adrian
adrian | half marathon. | Adrian
adrian | migraines | Adrian
adrian | Framework 13 | Adrian
adrian | allergic to penicillin | Adrian
adrian | every second day | Adrian
familia | alérgica a los cacahuates | Lucía
familia | café de olla por la mañana | Lucía
familia | A Lucía le encanta el cine | Lucía
familia | la cocina sin prisa | Lucía
familia | el barrio nuevo | Lucía
familia | la feria del libro | Lucía
lucia | hospital San Javier | Lucía
lucia | Soy enfermera | Lucía
lucia | respuestas claras | Lucía
lucia | lucha libre | Lucía
lucia | Me encanta el torno | Lucía
lucia | Prefiero el té | Lucía
lucia | clínica Condesa | Lucía
lucia | Trabajo de noche los jueves | Lucía
dev | Querétaro office | Marta
dev | Postgres over MySQL | Marta
dev | one release note a week | Marta
dev | Puebla office now | Marta
web | learn Rust | Marta
web | summaries in English | Marta
web | Puebla office, on the second | Marta
web | learning Nahuatl | Marta
web | lives in Cuetzalan | Marta's grandmother
dev | I come from Oaxaca | Iván
dev | pinged on Telegram | Iván
dev | a baby in March | Iván
dev | I live in Pune | Priya
dev | written briefs | Priya
dev | serif typefaces | Priya
dev | Goa for the winter | Priya
familia | vegetariana desde hace | Paz
familia | asiento de ventana | Paz
familia | odia los cohetes | Canelo
familia | tiene pasaporte | Canelo
familia | vive en Mérida | la hermana de Lucía
lucia | se llama Carmen | Carmen
"""
COMPLETE = ("Adrian", "Lucía", "Marta")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--locomo", type=Path, default=LOCOMO)
    parser.add_argument("--conversations", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with fresh_database("keno_people_bench"):
        _set_up()
        call_command("migrate", verbosity=0)
        rows = [demo()]
        if given.locomo.exists():
            rows.append(locomo(given.locomo, given.conversations))
        connections.close_all()
    for row in rows:
        for line in row.pop("wrong"):
            print("  wrong:", line)
        print(json.dumps(row))
    if given.json:
        told = {
            "right_person": min(row["right_person"] for row in rows),
            "false_merges": sum(row["false_merges"] for row in rows),
            "complete": rows[0]["complete"],
            "rows": rows,
        }
        given.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")


def demo() -> dict:
    """Live through the story and look up what was marked in it."""
    from django.contrib.auth.models import User

    from kenoweb import demo as made

    space = made.make(owners=[User.objects.create_user("owner")], now=NOW)
    marks = [[part.strip() for part in line.split("|")] for line in MARKS.strip().splitlines()]
    found = [
        (words, who, fact) for chat, words, who in marks for fact in _facts(space, chat, words)
    ]
    wrong = [
        f"{who}: {fact.text} -> {_about(fact)}" for _w, who, fact in found if not _is(fact, who)
    ]
    return {
        "data": "demo",
        "facts": len(found),
        "right_person": _share(len(found) - len(wrong), len(found)),
        "false_merges": _false_merges(space),
        "complete": _complete(space, [(who, fact) for _w, who, fact in found if who in COMPLETE]),
        "wrong": wrong,
    }


def locomo(file: Path, most: int) -> dict:
    """Say the turns of each conversation in a chat of one space."""
    from bench.questions import locomo as read
    from memory.chats import service as chats
    from memory.extraction import ingest
    from memory.models import Fact, Space

    space = Space.objects.create(name="LoCoMo", slug="locomo")
    raw = json.loads(file.read_text("utf-8"))
    right = facts = 0
    wrong = []
    for number, talk in enumerate(read(file)[:most]):
        chat = chats.find_or_open(space, channel="telegram", external_id=number)
        noted = _noted(raw[number])
        for memory in talk.memories:
            who = {"author": memory.speaker, "author_id": f"{number}-{memory.speaker}"}
            sent = {"sent_at": memory.at, "now": memory.at, "handled_at": memory.at}
            said = chats.receive(chat, text=memory.text, external_id=memory.id, **who, **sent)
            ingest.ingest(said.message, now=memory.at)
        for fact in Fact.objects.filter(chat=chat).select_related("message"):
            about = noted.get(fact.message.external_id, set()) if fact.message else set()
            if len(about) == 1:
                facts += 1
                (who,) = about
                if _is(fact, who):
                    right += 1
                else:
                    wrong.append(f"{who}: {fact.text} -> {_about(fact)}")
    return {
        "data": "locomo dev",
        "facts": facts,
        "right_person": _share(right, facts),
        "false_merges": _false_merges(space),
        "wrong": wrong[:40],
    }


def _noted(raw: dict) -> dict[str, set[str]]:
    """Whom each turn is about, as the annotators noted it."""
    found: dict[str, set[str]] = {}
    for session in raw["observation"].values():
        for who, lines in session.items():
            for line in lines:
                turns = line[1] if isinstance(line[1], list) else [line[1]]
                for turn in turns:
                    found.setdefault(turn, set()).add(who)
    return found


def _facts(space, chat: str, words: str) -> list:
    from kenoweb.demo import CHATS
    from memory.models import Fact

    rows = Fact.objects.filter(space=space, message__chat__title=CHATS[chat][2])
    return list(rows.filter(message__text__icontains=words, quote__icontains=words)[:1])


def _about(fact):
    from memory import people
    from memory.models import Mention

    row = (
        Mention.objects.filter(fact=fact, role="about")
        .select_related("entity__merged_into")
        .first()
    )
    return people.root(row.entity) if row and row.entity else None


def _is(fact, who: str) -> bool:
    from memory.models.entity import key_of

    entity = _about(fact)
    while entity and key_of(who) not in entity.keys:
        entity = entity.owner
    return entity is not None


def _false_merges(space) -> int:
    from django.db.models import Count

    from memory.models import Entity

    private = Entity.objects.filter(space=space, accounts=[])
    spread = private.annotate(n=Count("mentions__fact__chat", distinct=True)).filter(n__gt=1)
    # In the demo the owner approves what is asked: that is a person's word.
    silent = Entity.objects.filter(space=space, accounts__len__gt=1)
    return spread.exclude(chat=None).count() + silent.count()


def _complete(space, marked: list) -> float:
    from memory import people
    from memory.models import Entity

    shown = 0
    for who in COMPLETE:
        pages = Entity.objects.filter(space=space, merged_into=None).named(who)
        groups = [people.group(row) for row in pages]
        # The one page a person would open.
        ids = max(groups, key=lambda some: people.facts_of(some).count(), default=[])
        listed = set(people.facts_of(ids, "about", "named").values_list("pk", flat=True))
        shown += sum(fact.pk in listed for one, fact in marked if one == who)
    return _share(shown, len(marked))


def _share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


if __name__ == "__main__":
    main()
