"""How well and how fast recall finds, beside what people could use instead.

    python -m bench.recall --locomo FILE [--xquad EN ES] [--peers] [--json OUT]
    python -m bench.recall --talks FILE [--encrypted] [--json OUT]

Each dialogue turn (or paragraph) is one memory; a question has found what it needs when its
evidence is among the first k. Qualities in percent. `keno` goes through the real recall() on the
real Postgres with the shipped weights; `keno, left out` with weights learned without the
conversation that is asked. `--talks` takes other conversations in the form of LoCoMo, which taught
nothing, and asks only Keno, with and without its judge; with `--encrypted` first in plain, then
with every conversation encrypted.
"""

import argparse
import json
import os
import time
from pathlib import Path

import django

from bench import questions
from bench.fresh_database import encrypt, fresh_database
from bench.measures import Tally, table
from bench.questions import ANSWERABLE, Conversation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--locomo", type=Path)
    asked.add_argument("--talks", type=Path, help="other conversations in the form of LoCoMo")
    parser.add_argument("--xquad", type=Path, nargs=2, metavar=("EN", "ES"))
    parser.add_argument("--peers", action="store_true", help="also mem0, chromadb and txtai")
    parser.add_argument("--encrypted", action="store_true", help="of talks: in plain, encrypted")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seed", type=int, default=1, help="nothing here is random; accepted")
    given = parser.parse_args()
    with fresh_database("keno_recall_bench"):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        if given.talks and given.encrypted:
            rows = on_and_off(questions.locomo(given.talks))
        elif given.talks:
            rows = unseen(questions.locomo(given.talks))
        else:
            rows = conversations(questions.locomo(given.locomo), peers=given.peers)
        if given.xquad:
            rows += languages(*given.xquad)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False))


def conversations(talks: list[Conversation], *, peers: bool) -> list[dict]:
    asked = sum(q.category in ANSWERABLE for talk in talks for q in talk.questions)
    memories = sum(len(talk.memories) for talk in talks)
    print(f"{len(talks)} conversations, {memories} memories, {asked} questions\n")
    rows = [*rivals(talks), *keno(talks)]
    if peers:
        from bench.peers import compare

        rows += compare(talks)
    return _shown(rows)


def unseen(talks: list[Conversation]) -> list[dict]:
    """Conversations that taught nothing: with and without the judge."""
    return _shown(_with_and_without_judge(_held(talks)))


def on_and_off(talks: list[Conversation]) -> list[dict]:
    """The same questions before and after the conversations are encrypted."""
    held = _held(talks)
    plain, hidden = [], []
    rows = [_ask(held, ["keno"] * len(held), "keno", found=plain)]
    seconds = encrypt([one.space for one in held])
    _analyze()
    rows.append(_ask(held, ["keno"] * len(held), "keno, encrypted", found=hidden))
    for rank in (1, 10):
        pairs = zip(plain, hidden, strict=True)
        same = [len({*a[:rank]} & {*b[:rank]}) / max(1, len(a[:rank])) for a, b in pairs]
        rows[1][f"agreement_{rank}"] = round(100 * sum(same) / len(same), 1)
        print(f"of the first {rank}: {rows[1][f'agreement_{rank}']} % the same")
    print(f"encrypted in {seconds:.1f} s")
    return _shown(rows)


def _shown(rows: list[dict]) -> list[dict]:
    print(table(rows))
    for row in rows:
        if row["name"].startswith("keno"):
            for kind, part in row["by_category"].items():
                print(f"  {row['name']}, {kind}: R@10 {part['r10']:.1f}")
    return rows


def rivals(talks: list[Conversation]) -> list[dict]:
    from bench.rivals import ALL, vectors_of
    from memory.vectors import embed

    known = [vectors_of(talk.memories) for talk in talks]
    tallies = []
    for make in ALL:
        tally = Tally(make.name)
        for talk, vectors in zip(talks, known, strict=True):
            rival = make()
            rival.hold(talk, vectors)
            for question in talk.questions:
                if question.category in ANSWERABLE or talk.kind == "fact":
                    began = time.perf_counter()
                    found = rival.ask(question.text, embed.embed_query(question.text))
                    ms = (time.perf_counter() - began) * 1000
                    tally.add(question, [talk.memories[n].id for n in found], ms)
        tallies.append(tally.row())
    return tallies


def keno(talks: list[Conversation]) -> list[dict]:
    held = _held(talks)
    rows = [*_with_and_without_judge(held), _adversarial(held)]
    if len(held) > 1:
        rows.append(_ask(held, _left_out(held), "keno, left out"))
    return rows


def _held(talks: list[Conversation]) -> list:
    from bench.held import hold

    held = [hold(talk, slug=f"talk-{number}") for number, talk in enumerate(talks)]
    _analyze()
    return held


def _with_and_without_judge(held: list) -> list[dict]:
    from memory.retrieval.profiles import built_in

    alone = built_in("keno").with_weights({"answers": 0.0})
    return [
        _ask(held, ["keno"] * len(held), "keno"),
        _ask(held, [alone] * len(held), "keno, without the judge"),
    ]


def _left_out(held: list) -> list:
    """For each conversation the profile that the others teach."""
    from bench.learn_weights import examples, learn
    from memory.retrieval.profiles import built_in

    taught = [examples(one) for one in held]
    return [
        built_in("keno").with_weights(learn([one for n, one in enumerate(taught) if n != without]))
        for without in range(len(held))
    ]


def _ask(
    held: list, profiles: list, name: str, categories=ANSWERABLE, found: list | None = None
) -> dict:
    tally = Tally(name)
    for one, profile in zip(held, profiles, strict=True):
        for question in one.conversation.questions:
            if question.category in categories or one.conversation.kind == "fact":
                ids, ms = one.ask(question, profile=profile)
                tally.add(question, ids, ms)
                if found is not None:
                    found.append(ids)
    return tally.row()


def _adversarial(held: list) -> dict:
    """Questions with a false premise: whether the turn it was made from is found."""
    return _ask(held, ["keno"] * len(held), "keno, adversarial", frozenset({5}))


def languages(english: Path, spanish: Path) -> list[dict]:
    """Question and memory in the same and in different languages."""
    from bench.held import hold

    files, rows = {"en": english, "es": spanish}, []
    for asked, held in (("es", "es"), ("en", "en"), ("es", "en"), ("en", "es")):
        talk = questions.xquad(files[asked], files[held], language=held)
        inside = hold(talk, slug=f"xquad-{asked}-{held}")
        _analyze()
        pair = f"xquad {asked}->{held}"
        found = [row | {"name": f"{pair} {row['name']}"} for row in rivals([talk])]
        rows += [*found, _ask([inside], ["keno"], f"{pair} keno")]
    print("\nquestion language -> memory language\n" + table(rows))
    return rows


def _analyze() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memory_unit; ANALYZE memory_embedding")


if __name__ == "__main__":
    main()
