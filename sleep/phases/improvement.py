"""Improvement: what measured behaviour suggests changing. A person decides all of it."""

from dataclasses import asdict
from datetime import datetime

from memory.text import said_key
from sleep import advice, expiry, measures, proposals, suggestions, thinking
from sleep.advice import Advice
from sleep.models import Night, Proposal
from sleep.sleeper import Outcome, Phase, Sleeper
from sleep.voice import HEURISTICS

CONFIDENCE = {"high": 0.8, "medium": 0.6, "low": 0.4}


def plan(night: Night, now: datetime) -> list:
    return ["measure", "look", "expire"]


def think(sleeper: Sleeper, item: str) -> None:
    if item == "measure":
        _from_model(sleeper, _measured(sleeper)[0])


def work(sleeper: Sleeper, item: str) -> Outcome:
    if item == "look":
        return Outcome({"suggestions": suggestions.suggest(sleeper)})
    if item == "expire":
        return Outcome({"expired": expiry.gone(sleeper.space)})
    outcome = Outcome()
    measured, replies = _measured(sleeper)
    found = advice.advise(
        measured,
        opening=advice.habitual_opening(replies),
        options=asdict(sleeper.space.options),
    )
    for one in found:
        outcome.count("suggestions", bool(_propose(sleeper, one)))
    for one in _from_model(sleeper, measured):
        made = _propose(sleeper, one, mode=sleeper.complete.model)
        outcome.count("suggestions", bool(made))
    return outcome


def _measured(sleeper: Sleeper) -> tuple[dict[str, float], list[str]]:
    talk, replies = measures.of_replies(sleeper.space, now=sleeper.now)
    memory = measures.of_memory(sleeper.space, now=sleeper.now)
    night = measures.of_night(sleeper.night)
    night["error_repeat_rate"] = measures.error_repeat_rate(night)
    return night | talk | memory, replies


def _from_model(sleeper: Sleeper, measured: dict[str, float]) -> list[Advice]:
    """What a model reads from the numbers alone; no words of anybody are shown to it."""
    if not sleeper.complete or measured.get("replies", 0) < advice.ENOUGH_REPLIES:
        return []
    told = {name: n for name, n in measured.items() if name != "questions"}
    rows = thinking.suggestions(told, language=sleeper.space.language, ask=sleeper.complete)
    return [
        Advice(said_key(row["suggestion"]), row["priority"], row["observation"], row["suggestion"])
        for row in rows
    ]


def _propose(sleeper: Sleeper, one: Advice, *, mode: str = HEURISTICS) -> Proposal | None:
    before = {}
    if one.kind == Proposal.Kind.SETTING:
        name = one.change["name"]
        before = {name: getattr(sleeper.space.options, name)}
    return proposals.propose(
        sleeper.space,
        one.kind,
        # The same advice at most once a month: what was declined is not repeated every night.
        key=proposals.key("advice", one.name, sleeper.now.strftime("%Y-%m")),
        night=sleeper.night,
        title=one.suggestion,
        before=before,
        after=one.change,
        rationale=one.observation,
        evidence=_evidence(sleeper, one),
        confidence=CONFIDENCE[one.priority],
        mode=mode,
        flags=[one.priority] if one.kind != Proposal.Kind.ADVICE else [one.priority, "advice only"],
    )


def _evidence(sleeper: Sleeper, one: Advice) -> list[dict]:
    if one.name != "unused-facts":
        return []
    rows = measures.unused_facts(sleeper.space, now=sleeper.now).values_list("pk", "text")[:20]
    return [{"fact": pk, "quote": text} for pk, text in rows]


PHASE = Phase("improvement", plan, work, think)
