"""A profile applied to what was found: scores with their parts, and the gate that goes along."""

from collections.abc import Callable
from datetime import datetime

from memory.retrieval import features, ranking, seed004
from memory.retrieval.gate import probability
from memory.retrieval.lanes import Found
from memory.retrieval.profiles import Profile, built_in
from memory.retrieval.ranking import Scored
from memory.retrieval.understand import Question

Passes = Callable[[Scored], bool]


def score(
    profile: Profile,
    question: Question,
    found: Found,
    *,
    now: datetime,
    chat_id: int | None = None,
    strict: bool = False,
) -> tuple[list[Scored], Passes]:
    """Every candidate, best first, and whether one may pass."""
    known = features.compute(question, found, now=now, chat_id=chat_id)
    if profile.formula == "seed004":
        ranked, passes = _seed004(question, found, now=now, chat_id=chat_id)
    else:
        ranked = ranking.rank(found.units, known, profile.weights)
        passes = None
    # One scale for every profile: the curve is keno's where a profile has none.
    curve = profile.settings["gate"].get("curve") or built_in("keno").settings["gate"]["curve"]
    for one in ranked:
        one.confidence = round(probability(known[one.unit.id], curve), 4)
    return ranked, passes or _line(profile, ranked, strict)


def _line(profile: Profile, ranked: list[Scored], strict: bool) -> Passes:
    """Strict: each must be likely. Lenient: the best must be, and the rest not far behind it."""
    line = profile.settings["gate"]
    if strict:
        return lambda one: one.confidence >= line["strict"]
    best = max((one.confidence for one in ranked[:20]), default=0.0)
    floor = line["floor"] if best >= line["lenient"] else 1.0
    # How far behind the best one of a kind may lie, as a share of all weights.
    top, most = ranked[0].score if ranked else 0.0, sum(map(abs, profile.weights.values()))
    reach = {kind: top - share * most for kind, share in line.get("within", {}).items()}
    # A pinned memory is always offered.
    return lambda one: (
        one.unit.pinned
        or (one.confidence >= floor and one.score >= reach.get(one.unit.kind, one.score))
    )


def _seed004(
    question: Question, found: Found, *, now: datetime, chat_id: int | None
) -> tuple[list[Scored], Passes]:
    known = {
        unit.id: seed004.features(question.text, unit, now=now, chat_id=chat_id)
        for unit in found.units
    }
    # Meaning counts as available when at least one likeness is positive.
    meaning = any(one["semantic"] > 0 for one in known.values())
    ranked = ranking.rank(found.units, known, seed004.weights(meaning=meaning))
    if not meaning and not seed004.tokens(question.text, 32):
        return ranked, lambda one: True
    return ranked, lambda one: seed004.passes(known[one.unit.id], one.score, meaning=meaning)
