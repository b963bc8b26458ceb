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
        passes = _line(profile, strict)
    # One scale for every profile: the curve is keno's where a profile has none.
    curve = profile.settings["gate"].get("curve") or built_in("keno").settings["gate"]["curve"]
    for one in ranked:
        one.confidence = round(probability(known[one.unit.id], curve), 4)
    return ranked, passes


def _line(profile: Profile, strict: bool) -> Passes:
    line = profile.settings["gate"]["strict" if strict else "lenient"]
    # A pinned memory is always offered, unless only what surely fits was asked for.
    return lambda one: one.confidence >= line or (one.unit.pinned and not strict)


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
