"""Golden questions and replay on the demo: planted regressions, false alarms, predictions.

`python -m bench.golden --json OUT` makes the demo in a new database, plants ten regressions one
after the other (each must turn a golden question red and its undo green again), sleeps quiet nights
(none may turn one red), and holds what a replay says against what approving does.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta

from bench.fresh_database import fresh_database

RECALLS = 200
SHARES = {"median": 0.5, "p90": 0.9, "max": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", default="")
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--proposals", type=int, default=50)
    parser.add_argument("--only", choices=("regressions", "nights", "replay"), default="")
    given = parser.parse_args()
    with fresh_database("golden"):
        os.environ["DJANGO_SETTINGS_MODULE"] = "kenoweb.settings"
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        measured = measure(nights=given.nights, most=given.proposals, only=given.only)
    print(json.dumps(measured, indent=1, ensure_ascii=False))
    if given.json:
        with open(given.json, "w") as file:
            json.dump(measured, file, indent=1, ensure_ascii=False)


def measure(*, nights: int, most: int, only: str) -> dict:
    from django.contrib.auth.models import User
    from django.utils import timezone

    from kenoweb import demo
    from memory.trust import golden

    ana = User.objects.create_user("ana")
    space = demo.make(owners=[ana], now=timezone.now())
    first = golden.run(space, why="hand")
    measured = {"questions": first.green + first.red, "green_at_first": first.green}
    if only in ("", "regressions"):
        measured["regressions"] = regressions(space)
    if only in ("", "nights"):
        measured["false_alarms"] = quiet_nights(space, nights)
    if only in ("", "replay"):
        measured["replay"] = predictions(space, member=space.members.get(user=ana), most=most)
    return measured


def regressions(space) -> dict:
    """Plant each, ask, undo what is listed first, ask again: [caught, undone]."""
    from memory.models import GoldenQuestion
    from memory.trust import golden

    told = {}
    for name, plant in planted(space).items():
        golden.run(space, why="hand")
        plant()
        space.refresh_from_db()
        golden.run(space, why="hand")
        red = list(GoldenQuestion.objects.filter(space=space, status="active", state="red"))
        undone = False
        for row in red:
            row.refresh_from_db()
            steps = golden.between(row) if row.state == "red" else []
            # The first undo asks every question again: the others are green then.
            undone |= any(golden.undo(row, step.change, by="person:ana") for step in steps)
            space.refresh_from_db()
        still = GoldenQuestion.objects.filter(space=space, status="active", state="red").count()
        told[name] = {"caught": len(red), "undone": bool(red) and undone and not still}
        print(name, told[name], file=sys.stderr, flush=True)
    return told


def planted(space) -> dict[str, Callable[[], object]]:
    """Ten ways to make memory worse, each through the service that a mistake would use."""
    from memory.facts import bulk
    from memory.facts import service as facts
    from memory.history import changes as history
    from memory.retrieval import profiles
    from memory.spaces import service as spaces

    by = "person:ana"

    def fact(words: str):
        return space.facts.filter(status="active", text__contains=words).first()

    def poison() -> None:
        """An import that says otherwise about what is asked, often and loudly."""
        with history.change(by="import", why="import mem0"):
            old, when = fact("frozen from the 18th"), "Deploys are frozen from the"
            facts.supersede(old, by="import", text=f"{when} 28th of January")
            for day in (3, 4, 5):
                facts.remember(space, text=f"{when} {day}th of March", by=by, chat=old.chat)

    def broken_weights() -> None:
        zero = dict.fromkeys(profiles.built_in("keno").weights, 0.0)
        profiles.save(space, name="broken", weights=zero | {"recency": 50.0}, by=by)
        spaces.configure(space, by=by, values={"recall_profile": "broken"})

    merged = [fact("Tepache").pk, fact("queue runs on Valkey").pk]
    return {
        "bad merge": lambda: bulk.merge(space, merged, keep=merged[0], by=by),
        "poisoned import": poison,
        "broken weights": broken_weights,
        "wrong supersede": lambda: facts.supersede(
            fact("9 de mayo"), by="night", text="el cumpleaños de Lucía es el 9 de marzo"
        ),
        "bad wording": lambda: facts.revise(
            fact("paid on the 15th"), by=by, text="Priya is paid on the 25th, by cheque"
        ),
        "forgotten by mistake": lambda: facts.forget(fact("vive en Mérida"), by=by),
        "in the trash": lambda: facts.discard(fact("Framework 13"), by=by),
        "moved to another chat": lambda: bulk.move(
            space, [fact("cierra los lunes").pk], chat=space.chats.get(title="Marta"), by=by
        ),
        "wrong ruling": lambda: facts.never_again(fact("lives in Cuetzalan"), by=by),
        "too strict": lambda: spaces.configure(space, values={"recall_strict": True}, by=by),
    }


def quiet_nights(space, count: int) -> dict:
    """Nights in which nobody says anything: none may turn a question red."""
    from django.utils import timezone

    from memory.trust import golden
    from sleep import cycle

    alarms = 0
    for day in range(1, count + 1):
        now = timezone.now() + timedelta(days=day)
        cycle.sleep(space, now=now)
        run = golden.run(space, why="night", now=now)
        alarms += bool(run and run.red)
    return {"nights": count, "alarms": alarms}


def predictions(space, *, member, most: int) -> dict:
    """What a replay says, against what is recalled after approving; each decision is undone."""
    from django.utils import timezone

    from memory.retrieval.recall import recall
    from memory.trust import replay
    from memory.vectors import store as embeddings
    from sleep import proposals

    right = changed = 0
    seconds = []
    said = [*space.messages.filter(role="user"), *space.facts.filter(status="active")]
    for one in said[:RECALLS]:
        recall(space, one.text, chat=one.chat)
    receipts = replay.past(space)
    asked = _proposed(space, most)
    for proposal in asked:
        now = timezone.now()
        # Each time anew: what is undone is not in every rank where it was.
        was = replay.answers(space, receipts, now=now)
        began = time.perf_counter()
        found = proposals.impact(proposal, now=now)
        seconds.append(time.perf_counter() - began)
        given = {"member": member, "digest": proposal.digest, "reason": "to see"}
        decided = proposals.approve(proposal, **given)
        embeddings.backfill(space=space)
        became = replay.answers(space, receipts, now=now)
        real = {pk: set(became[pk]) for pk in was if set(was[pk]) != set(became[pk])}
        predicted = {one.receipt.pk: set(one.after) for one in found.changed}
        right += predicted == real
        for receipt in receipts:
            if predicted.get(receipt.pk) != real.get(receipt.pk):
                told = (predicted.get(receipt.pk), real.get(receipt.pk))
                print(
                    proposal.kind, proposal.title, receipt.query, *told, sep="\n  ", file=sys.stderr
                )
        changed += len(real)
        proposals.undo(decided, member=member)
        # What got its words back has no vector yet; the next proposal has nothing to do with that.
        embeddings.backfill(space=space)
    took = {f"seconds_{name}": _at(seconds, part) for name, part in SHARES.items()}
    told = {"proposals": len(asked), "right": right, "answers_changed": changed}
    return told | {"recalls": len(receipts)} | took


def _at(seconds: list[float], part: float) -> float:
    return round(sorted(seconds)[int(part * (len(seconds) - 1))], 2)


def _proposed(space, most: int) -> list:
    """One proposal a fact: to retire it, to word it otherwise, or to add one beside it."""
    from sleep import proposals

    made = []
    for number, fact in enumerate(space.facts.filter(status="active").order_by("pk")[:most]):
        kinds: list[tuple[str, list, dict]] = [
            ("retire", [fact], {}),
            ("revise", [fact], {"text": f"{fact.text}, they say"}),
            ("add", [], {"text": f"{fact.text} as well", "chat": fact.chat_id}),
        ]
        kind, rows, after = kinds[number % 3]
        made.append(
            proposals.propose(
                space,
                kind,
                key=proposals.key("bench", number),
                title=fact.text,
                rows=rows,
                after=after,
            )
        )
    return [one for one in made if one]


if __name__ == "__main__":
    main()
