"""Improvement: what measured behaviour suggests changing. A person decides all of it."""

from dataclasses import asdict
from datetime import datetime

from memory.text.normalise import said_key
from memory.trust import golden
from sleep import advice, budgeted_model, proposals
from sleep.advice import Advice
from sleep.budgeted_model import HEURISTICS
from sleep.models import Night, Proposal
from sleep.phase import Outcome, Phase, PhaseContext

CONFIDENCE = {"high": 0.8, "medium": 0.6, "low": 0.4}


def plan(night: Night, now: datetime) -> list:
    return ["measure", "weigh", "look", "expire"]


def think(context: PhaseContext, item: str) -> None:
    if item == "measure":
        _from_model(context, _measured(context)[0])


def work(context: PhaseContext, item: str) -> Outcome:
    if item == "weigh":
        return Outcome({"weighed": golden.weigh_past(context.space, now=context.now)})
    if item == "look":
        return Outcome({"suggestions": _look(context)})
    if item == "expire":
        return Outcome({"expired": proposals.expire_gone(context.space)})
    outcome = Outcome()
    measured, replies = _measured(context)
    found = advice.advise(
        measured,
        opening=advice.habitual_opening(replies),
        options=asdict(context.space.options),
    )
    for one in found:
        outcome.count("suggestions", bool(_propose(context, one)))
    for one in _from_model(context, measured):
        made = _propose(context, one, mode=context.complete.model)
        outcome.count("suggestions", bool(made))
    return outcome


def _look(context: PhaseContext) -> int:
    """Look through memory; a night with nothing to read asks one thing, if there is one to ask."""
    asked = Proposal.objects.filter(night=context.night).count()
    if advice.night_totals(context.night).get("episodes", 0):
        return advice.suggest(context)
    if asked:
        return 0
    return advice.suggest(context, most=1)


def _measured(context: PhaseContext) -> tuple[dict[str, float], list[str]]:
    talk, replies = advice.reply_measures(context.space, now=context.now)
    memory = advice.memory_measures(context.space, now=context.now)
    night = advice.night_totals(context.night)
    night["error_repeat_rate"] = advice.error_repeat_rate(night)
    return night | talk | memory, replies


def _from_model(context: PhaseContext, measured: dict[str, float]) -> list[Advice]:
    """What a model reads from the numbers alone; no words of anybody are shown to it."""
    if not context.complete or measured.get("replies", 0) < advice.ENOUGH_REPLIES:
        return []
    told = {name: n for name, n in measured.items() if name != "questions"}
    rows = budgeted_model.ask_advice(told, language=context.space.language, ask=context.complete)
    return [
        Advice(said_key(row["suggestion"]), row["priority"], row["observation"], row["suggestion"])
        for row in rows
    ]


def _propose(
    context: PhaseContext, suggestion: Advice, *, mode: str = HEURISTICS
) -> Proposal | None:
    before = {}
    if suggestion.kind == Proposal.Kind.SETTING:
        name = suggestion.change["name"]
        before = {name: getattr(context.space.options, name)}
    return proposals.propose(
        context.space,
        suggestion.kind,
        # The same advice at most once a month: what was declined is not repeated every night.
        key=proposals.key("advice", suggestion.name, context.now.strftime("%Y-%m")),
        night=context.night,
        title=suggestion.suggestion,
        before=before,
        after=suggestion.change,
        rationale=suggestion.observation,
        confidence=CONFIDENCE[suggestion.priority],
        mode=mode,
        flags=[suggestion.priority],
    )


PHASE = Phase("improvement", plan, work, think)
