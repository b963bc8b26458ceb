"""Improvement: what measured behaviour suggests changing. A person decides all of it."""

from dataclasses import asdict
from datetime import datetime

from memory.models import Fact
from sleep import advice, measures, proposals
from sleep.advice import Advice
from sleep.models import Night, Proposal
from sleep.sleeper import Outcome, Phase, Sleeper

CONFIDENCE = {"high": 0.8, "medium": 0.6, "low": 0.4}


def plan(night: Night, now: datetime) -> list:
    return ["measure", "expire"]


def work(sleeper: Sleeper, item: str) -> Outcome:
    if item == "expire":
        return Outcome({"expired": proposals.expire_gone(sleeper.space)})
    outcome = Outcome()
    talk, replies = measures.of_replies(sleeper.space, now=sleeper.now)
    measured = (
        measures.of_night(sleeper.night) | talk | measures.of_memory(sleeper.space, now=sleeper.now)
    )
    found = advice.advise(
        measured,
        opening=advice.habitual_opening(replies),
        options=asdict(sleeper.space.options),
    )
    for one in found:
        outcome.count("suggestions", bool(_propose(sleeper, one, measured)))
    return outcome


def _propose(sleeper: Sleeper, one: Advice, measured: dict) -> Proposal | None:
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
        flags=[one.priority] if one.kind != Proposal.Kind.ADVICE else [one.priority, "advice only"],
    )


def _evidence(sleeper: Sleeper, one: Advice) -> list[dict]:
    if one.name != "unused-facts":
        return []
    oldest = Fact.objects.filter(space=sleeper.space, status=Fact.Status.ACTIVE, pinned=False)
    rows = oldest.order_by("last_used_at", "created_at").values_list("pk", "text")[:20]
    return [{"fact": pk, "quote": text} for pk, text in rows]


PHASE = Phase("improvement", plan, work)
