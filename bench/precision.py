"""How much of what recall brings is to the point: the cases of PrecisionMemBench.

    python -m bench.precision --cases DIR [--json OUT]

DIR holds a copy of its fixtures (beliefs.seed.json, retrieval.cases.json and
session-retrieval.cases.json, MIT licence); nothing of it is part of Keno. A belief is a fact, with
its other names behind its sentence; a scope is a chat of its own, a user a space. Open questions
are not facts: they wait in the working note, so recall does not bring them. A case is passed when
exactly what it asks for comes, pins aside; it counts as active when something had to come.
"""

import argparse
import json
import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import django

from bench.fresh_database import fresh_database

MOST = 20
OPEN = "open_question"


@dataclass
class Outcome:
    """What one case asked for and what came."""

    name: str
    wanted: set[str]
    came: list[str]
    passed: bool
    words: str = ""

    @property
    def hits(self) -> int:
        return len(self.wanted.intersection(self.came))

    @property
    def precision(self) -> float | None:
        if not self.came:
            return 0.0 if self.wanted else None
        return self.hits / len(self.came)


@dataclass
class Beliefs:
    """The beliefs of the benchmark inside Keno; `ids` leads from facts back to them."""

    raw: dict[str, dict] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    chats: dict[tuple[str, str], object] = field(default_factory=dict)

    def add(self, belief: dict) -> None:
        from memory.models import Fact
        from memory.text import normalise as text
        from memory.vectors import store as embeddings

        self.raw[belief["_id"]] = belief
        if belief["type"] == OPEN:
            return
        said = in_words(belief)
        chat = self.chat(belief["user_id"], belief["scope"][0])
        gone = belief.get("superseded_by") or belief.get("resolved_at")
        fact = Fact.objects.create(
            space=chat.space,
            chat=chat,
            text=said,
            said_key=text.said_key(said),
            language="en",
            confidence=belief.get("confidence", 0.5),
            pinned=bool(belief.get("pinned")),
            status="superseded" if gone else "active",
            created_at=datetime.fromisoformat(belief["created_at"]),
        )
        self.ids[fact.pk] = belief["_id"]
        embeddings.backfill(space=chat.space)

    def more_names(self, name: str, aliases: list[str]) -> None:
        from memory.models import Fact
        from memory.text import normalise as text
        from memory.vectors import store as embeddings

        belief = self.raw[name]
        belief["aliases"] = [*belief["aliases"], *aliases]
        said, fact = in_words(belief), next(pk for pk, one in self.ids.items() if one == name)
        Fact.objects.filter(pk=fact).update(text=said, said_key=text.said_key(said))
        embeddings.backfill(space=self.chat(belief["user_id"], belief["scope"][0]).space)

    def chat(self, user: str, scope: str):
        from memory.models import Chat, Space

        if (user, scope) not in self.chats:
            space, _made = Space.objects.get_or_create(slug=user, defaults={"name": user})
            self.chats[user, scope] = Chat.objects.create(
                space=space,
                channel="import",
                external_id=scope,
                key=f"{user}-{scope}".replace(":", "-"),
            )
        return self.chats[user, scope]

    def ask(self, case: dict, query: str) -> list[str]:
        """The beliefs that come to mind, pins aside, as many as the case leaves room for."""
        room = case.get("budget", {}).get("maxBeliefs", MOST) - len(self.pinned(case))
        if not query.strip() or room <= 0:
            return []
        found = sorted(
            (item for scope in case["scope"] for item in self._recalled(case, scope, query)),
            key=lambda item: -item.score,
        )
        names = [self.ids[item.unit.owner_id] for item in found if not item.unit.pinned]
        return self._with_participants(case, list(dict.fromkeys(names)))[:room]

    def _recalled(self, case: dict, scope: str, query: str) -> list:
        from memory.retrieval.recall import recall

        chat = self.chat(case.get("userId", "test-user"), scope)
        result = recall(chat.space, query, chat=chat, kinds=("fact",), limit=MOST + 10, save=False)
        if result.error:
            raise RuntimeError(result.error)
        return result.items

    def _with_participants(self, case: dict, names: list[str]) -> list[str]:
        """A relation brings those it is between, as the benchmark's own adapter does."""
        between = [one for name in names for one in self.raw[name].get("participants") or ()]
        fits = [
            one
            for one in between
            if self.raw[one]["type"] != OPEN
            and not self.raw[one]["pinned"]
            and set(case["scope"]).intersection(self.raw[one]["scope"])
        ]
        return list(dict.fromkeys([*names, *fits]))

    def pinned(self, case: dict) -> list[str]:
        return [
            name
            for name, one in self.raw.items()
            if one["pinned"]
            and one["type"] != OPEN
            and not (one.get("superseded_by") or one.get("resolved_at"))
            and one["user_id"] == case.get("userId", "test-user")
            and set(case["scope"]).intersection(one["scope"])
        ]


def in_words(belief: dict) -> str:
    """Its sentence, and the names it also goes by."""
    names = [belief["canonical_name"].replace("_", " "), *belief["aliases"]]
    return f"{belief['content']} ({', '.join(dict.fromkeys(names))})"


def single(beliefs: Beliefs, cases: list[dict]) -> list[Outcome]:
    return [_outcome(beliefs, case, case["query"], case["caseId"]) for case in cases]


def sessions(beliefs: Beliefs, cases: list[dict]) -> list[Outcome]:
    """The turns of each session; what a turn teaches is known to the next."""
    found = []
    for case in cases:
        for turn in case["turns"]:
            name = f"{case['caseId']} {turn['turnIndex']}"
            found.append(_outcome(beliefs, turn, turn["userMessage"], name))
            if new := turn.get("createBeliefAtTurn"):
                beliefs.add(new)
            if more := turn.get("updateBeliefAtTurn"):
                beliefs.more_names(more["beliefId"], more.get("addAliases") or [])
    return found


def _outcome(beliefs: Beliefs, case: dict, query: str, name: str) -> Outcome:
    asked = case["expect"].get("relevantBeliefs") or {}
    pinned = set(beliefs.pinned(case))
    must = {one for one in asked.get("mustInclude", []) if one not in pinned}
    wanted = set(asked.get("shouldOnlyInclude", must))
    came = beliefs.ask(case, query)
    exact = "shouldOnlyInclude" not in asked or set(came) == wanted
    passed = exact and wanted <= set(came) and not set(asked.get("mustExclude", ())) & set(came)
    return Outcome(name, wanted, came, passed, query)


def summary(alone: list[Outcome], talks: list[Outcome]) -> dict:
    """The benchmark's own figures; drift is the share of a turn that was not asked for."""
    precise = [one.precision for one in alone if one.precision is not None]
    recalls = [one.hits / len(one.wanted) for one in alone if one.wanted]
    drift = [1 - one.precision if one.came else 0.0 for one in talks]
    return {
        "active": sum(one.passed and bool(one.hits) for one in alone),
        "of": sum(bool(one.wanted) for one in alone),
        "passed": sum(one.passed for one in alone),
        "cases": len(alone),
        "mean_precision": round(sum(precise) / len(precise), 4),
        "mean_recall": round(sum(recalls) / len(recalls), 4),
        "drift": round(sum(drift) / len(drift), 4),
        "turns_passed": sum(one.passed for one in talks),
        "turns": len(talks),
    }


def read(folder: Path) -> tuple[Beliefs, list[dict], list[dict]]:
    """The beliefs, in the database, and the cases of both kinds."""
    folder = folder / "fixtures" if (folder / "fixtures").is_dir() else folder
    files = ("beliefs.seed.json", "retrieval.cases.json", "session-retrieval.cases.json")
    seed, alone, talks = (json.loads((folder / name).read_text("utf-8")) for name in files)
    beliefs = Beliefs()
    for belief in seed:
        beliefs.add(belief)
    return beliefs, alone, talks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with fresh_database("keno_precision"):
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        beliefs, alone, talks = read(given.cases)
        outcomes = single(beliefs, alone), sessions(beliefs, talks)
    for one in (*outcomes[0], *outcomes[1]):
        if not one.passed:
            missing, more = sorted(one.wanted - set(one.came)), sorted(set(one.came) - one.wanted)
            print(f"{one.name}: {one.words[:90]}\n    missing {missing}, too many {more}")
    figures = summary(*outcomes)
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
