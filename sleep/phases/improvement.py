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
        _from_model(context, _measure(context)[0])


def work(context: PhaseContext, item: str) -> Outcome:
    if item == "weigh":
        return Outcome({"weighed": golden.weigh_past(context.space, now=context.now)})
    if item == "look":
        return Outcome({"suggestions": _look(context)})
    if item == "expire":
        return Outcome({"expired": proposals.expire_gone(context.space)})
    measures, replies = _measure(context)
    opening, options = advice.habitual_opening(replies), asdict(context.space.options)
    made = [_propose(context, item) for item in advice.advise(measures, opening, options)]
    for suggestion in _from_model(context, measures):
        made.append(_propose(context, suggestion, mode=context.complete.model))
    return Outcome({"suggestions": sum(proposal is not None for proposal in made)})


def _look(context: PhaseContext) -> int:
    """Look through memory; a night with nothing to read asks one thing, if there is one to ask."""
    if advice.night_totals(context.night).get("episodes", 0):
        return advice.suggest(context)
    if Proposal.objects.filter(night=context.night).exists():
        return 0
    return advice.suggest(context, most=1)


def _measure(context: PhaseContext) -> tuple[dict[str, float], list[str]]:
    talk, replies = advice.reply_measures(context.space, now=context.now)
    memory = advice.memory_measures(context.space, now=context.now)
    night = advice.night_totals(context.night)
    night["error_repeat_rate"] = advice.error_repeat_rate(night)
    return night | talk | memory, replies


def _from_model(context: PhaseContext, measures: dict[str, float]) -> list[Advice]:
    """Ask a model for advice by the numbers alone; it is shown nobody's words."""
    if not context.complete or measures.get("replies", 0) < advice.ENOUGH_REPLIES:
        return []
    numbers = {name: n for name, n in measures.items() if name != "questions"}
    rows = budgeted_model.ask_advice(numbers, language=context.space.language, ask=context.complete)
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
    return context.propose(
        suggestion.kind,
        # The same advice at most once a month: what was declined is not repeated every night.
        key=proposals.key("advice", suggestion.name, context.now.strftime("%Y-%m")),
        title=suggestion.suggestion,
        before=before,
        after=suggestion.change,
        rationale=suggestion.observation,
        confidence=CONFIDENCE[suggestion.priority],
        mode=mode,
        flags=[suggestion.priority],
    )


PHASE = Phase("improvement", plan, work, think)
