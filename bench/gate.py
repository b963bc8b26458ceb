"""How far the gate's probabilities can be believed, and whether recall knows when it knows nothing.

    python -m bench.gate [--judged FILE...] [--talks FILE...] [--fit] [--json OUT]

`--judged` holds lines of a question with memories that help (+) and that do not (-), all of them in
one space as facts; `--talks` numbered talks with questions behind them, one chat a language. Both
have questions that nothing answers. Printed by tenths: how many of the memories that were said to
be so likely were really asked for; and how often the confidence of a whole recall is higher where
the answer is there than where it is not (AUC). `--fit` prints the curves that these questions would
give, for `memory/retrieval/built_in/keno.json`: give it lines the judge was not taught.
"""

import argparse
import json
import os
from pathlib import Path

import django

from bench import questions
from bench.fitting import logistic
from bench.fresh_database import fresh_database

DEEP = 24
# What each curve of the gate could look at.
CURVES = {
    "fact": ["bias", "about", "lead", "ahead", "answers"],
    "talk": ["bias", "semantic", "answers", "lead"],
    "recall": ["bias", "answers", "ahead"],
}
# Features of a memory or of the best memories, and whether it is what was asked for.
Seen = tuple[dict[str, float], bool]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judged", type=Path, nargs="*", default=[])
    parser.add_argument("--talks", type=Path, nargs="*", default=[])
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with fresh_database("keno_gate"):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        talks = [talk for file in given.judged for talk in questions.judged(file)]
        talks += [talk for file in given.talks for talk in questions.talks(file)]
        seen: dict[str, list[Seen]] = {kind: [] for kind in CURVES}
        rows = [report(talk, number, seen) for number, talk in enumerate(talks)]
    if given.fit:
        show_curves(seen)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


def report(talk: questions.Conversation, number: int, seen: dict[str, list[Seen]]) -> dict:
    """Ask every question of a conversation and print what the gate said of it.

    What the curves could have looked at is added to `seen`.
    """
    from bench.held import hold

    held = hold(talk, slug=f"gate-{number}")
    pairs: list[tuple[float, bool]] = []
    sure: dict[bool, list[float]] = {True: [], False: []}
    for question in talk.questions:
        found = _recalled(held, question)
        ranked = sorted((*found.items, *found.cut), key=lambda item: -item.score)[:DEEP]
        right = [held.ids[item.unit.owner_id] in question.evidence for item in ranked]
        pairs += zip((item.confidence for item in ranked), right, strict=True)
        sure[bool(question.evidence)].append(found.confidence)
        weighed = ({"bias": 1.0, **item.features} for item in ranked)
        seen["fact" if talk.kind == "fact" else "talk"] += zip(weighed, right, strict=True)
        read = [i.features for i in ranked if i.features.get("answers")]
        if read:
            best = max(read, key=lambda features: features["answers"])
            seen["recall"].append(({"bias": 1.0, **best}, bool(question.evidence)))
    row = {
        "name": talk.name,
        "questions": len(talk.questions),
        "auc": auc(sure[True], sure[False]),
        "unanswerable_high": share([one >= 0.7 for one in sure[False]]),
        "by_tenths": by_tenths(pairs),
    }
    print(f"{talk.name}: AUC {row['auc']}, {len(talk.questions)} questions")
    for tenth in row["by_tenths"]:
        print("  said {said:.2f}, was {was:.2f}, of {memories}".format(**tenth))
    return row


def show_curves(seen: dict[str, list[Seen]]) -> None:
    for kind, names in CURVES.items():
        if seen[kind]:
            curve = logistic(seen[kind], names, hold=1.0)
            print(f'"{kind}":', {name: round(one, 3) for name, one in curve.items()})


def _recalled(held, question: questions.Question):
    from memory.retrieval.recall import recall

    kinds, now = (held.conversation.kind,), held.conversation.now
    given = {"chat": held.chat, "now": now, "kinds": kinds, "save": False, "settled": True}
    return recall(held.space, question.text, **given)


def by_tenths(pairs: list[tuple[float, bool]]) -> list[dict]:
    """For each tenth of the scale: what was said, what was so, and of how many memories."""
    rows = []
    for tenth in range(10):
        inside = [(p, right) for p, right in pairs if min(9, int(p * 10)) == tenth]
        if inside:
            said, was = share([p for p, _ in inside]), share([right for _, right in inside])
            rows.append({"said": said, "was": was, "memories": len(inside)})
    return rows


def auc(higher: list[float], lower: list[float]) -> float | None:
    """How often one of the first list is above one of the second; ties count half."""
    pairs = [(a > b) + 0.5 * (a == b) for a in higher for b in lower]
    return share(pairs) if pairs else None


def share(values: list) -> float:
    return round(sum(values) / len(values), 3) if values else 0.0


if __name__ == "__main__":
    main()
