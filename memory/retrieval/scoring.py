"""Apply a profile to the candidates: scores with their parts, and its gate."""

from collections.abc import Callable
from datetime import datetime

from memory.retrieval import classic, features, judge, ranking
from memory.retrieval.gate import probability
from memory.retrieval.lanes import Candidates
from memory.retrieval.profiles import Profile, built_in
from memory.retrieval.ranking import Scored
from memory.retrieval.understand import Question

Passes = Callable[[Scored], bool]


def score(
    profile: Profile,
    question: Question,
    candidates: Candidates,
    *,
    now: datetime,
    chat_id: int | None = None,
    strict: bool = False,
    judge_ms: float = 0.0,
) -> tuple[list[Scored], Passes]:
    """Return every candidate, best first, and a test whether one passes the gate.

    `judge_ms` is the time the judge may take to read the best of them; 0 leaves it out.
    """
    values = features.compute(question, candidates, now=now, chat_id=chat_id)
    if profile.formula == "classic":
        ranked, passes = _classic(question, candidates, now=now, chat_id=chat_id)
    else:
        ranked = ranking.rank(candidates.units, values, profile.weights)
        passes = None
        if profile.weights.get("answers") and judge_ms and len(ranked) > 1:
            _judge(question.text, ranked[: judge.MAX_JUDGED], values, judge_ms)
            ranked = ranking.rank(candidates.units, values, profile.weights)
    # One scale for every profile: the curve is keno's where a profile has none.
    curve = profile.settings["gate"].get("curve") or built_in("keno").settings["gate"]["curve"]
    for item in ranked:
        item.confidence = round(probability(values[item.unit.id], curve), 4)
    return ranked, passes or _gate_test(profile, ranked, strict)


def _judge(question: str, best: list[Scored], values: dict, budget_ms: float) -> None:
    """Put the judge's opinion among the features of the best candidates."""
    memories = [judge.as_read(item.unit, question) for item in best]
    opinions = judge.opinions(question, memories, budget_ms=budget_ms)
    for item, opinion in zip(best, opinions, strict=False):
        values[item.unit.id]["answers"] = opinion


def _gate_test(profile: Profile, ranked: list[Scored], strict: bool) -> Passes:
    """Return the gate's test. Strict: each must be likely. Lenient: the best, and those near it."""
    limits = profile.settings["gate"]
    if strict:
        return lambda item: item.confidence >= limits["strict"]
    best = max((item.confidence for item in ranked[:20]), default=0.0)
    floor = limits["floor"] if best >= limits["lenient"] else 1.0
    # How far behind the best one of a kind may lie, as a share of all weights.
    top, most = ranked[0].score if ranked else 0.0, sum(map(abs, profile.weights.values()))
    reach = {kind: top - share * most for kind, share in limits.get("within", {}).items()}
    # A pinned memory is always offered.
    return lambda item: (
        item.unit.pinned
        or (item.confidence >= floor and item.score >= reach.get(item.unit.kind, item.score))
    )


def _classic(
    question: Question, candidates: Candidates, *, now: datetime, chat_id: int | None
) -> tuple[list[Scored], Passes]:
    values = {
        unit.id: classic.features(question.text, unit, now=now, chat_id=chat_id)
        for unit in candidates.units
    }
    # Meaning counts as available when at least one likeness is positive.
    meaning = any(item["semantic"] > 0 for item in values.values())
    ranked = ranking.rank(candidates.units, values, classic.weights(meaning=meaning))
    if not meaning and not classic.tokens(question.text, 32):
        return ranked, lambda item: True
    return ranked, lambda item: classic.passes(values[item.unit.id], item.score, meaning=meaning)
