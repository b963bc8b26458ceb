"""The gate: a probability of relevance per memory, the limit it must reach, and a level."""

import math
from collections.abc import Callable, Mapping

from memory.models import Recall
from memory.retrieval.ranking import Scored

MEDIUM_FROM = 0.4
HIGH_FROM = 0.7
TALK_SHARE = 0.003
# Less likely than this a line of talk stays out of a prompt: of twenty such one would help.
PROMPT_FROM = 0.05
SMALL_MEMORY = 3

DESCRIPTIONS = {
    "none": "No relevant context found",
    "low": "Limited relevant context",
    "medium": "Moderate relevant context",
    "high": "Strong relevant context",
}


def probability(features: Mapping[str, float], curve: Mapping[str, float]) -> float:
    """Return the probability by a logistic curve, fitted on answerable and other questions."""
    x = curve["bias"] + sum(
        weight * features.get(name, 0.0) for name, weight in curve.items() if name != "bias"
    )
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def line(limits: Mapping, kind: str, *, strict: bool = False, prompt: bool = False) -> float:
    """Return how likely a memory of this kind must be.

    One message of a talk is seldom the whole answer, so a small share of the limit is enough for
    who looks through a list; a `prompt` takes only what may help.
    """
    if strict:
        return limits["strict"]
    if kind == "fact":
        return limits["lenient"]
    least = limits["lenient"] * limits.get("talk", TALK_SHARE)
    return max(least, limits.get("prompt", PROMPT_FROM)) if prompt else least


def apply(ranked: list[Scored], passes: Callable[[Scored], bool], *, strict: bool) -> list[Scored]:
    """Mark what the gate cuts; return what stays, in its order. Pins are outside the gate.

    In a small memory nothing is rare or ahead of the rest, so the best one passes all the same
    (never in strict mode); its confidence says how little it means.
    """
    for scored in ranked:
        scored.cut = "" if scored.unit.pinned or passes(scored) else "gate"
    passed = [scored for scored in ranked if not scored.cut]
    if not passed and not strict and 0 < len(ranked) <= SMALL_MEMORY:
        ranked[0].cut = ""
        return ranked[:1]
    return passed


def level(confidence: float, *, has_items: bool) -> str:
    """Return the level of a confidence: none, low, medium from .4, high from .7."""
    if not has_items:
        return Recall.Level.NONE
    if confidence >= HIGH_FROM:
        return Recall.Level.HIGH
    return Recall.Level.MEDIUM if confidence >= MEDIUM_FROM else Recall.Level.LOW


def describe(of_level: str) -> str:
    return DESCRIPTIONS.get(of_level, DESCRIPTIONS["none"])


def estimate(results: int, confidence: float | None = None) -> tuple[str, float]:
    """Return how sure a reply may be, by what was found: (level, 0..1)."""
    if confidence is None:
        score = min(1.0, 0.2 + 0.15 * results)
    else:
        score = confidence + (0.1 if results > 5 else 0) - (0.2 if results == 0 else 0)
        score = min(1.0, max(0.0, score))
    return level(score, has_items=True), score


def judged_confidence(
    confidence: float, texts: list[str], ask: Callable[[list[str]], object] | None
) -> float:
    """Return a model's opinion of the relevance; the heuristic one when it gives none."""
    if not texts or ask is None:
        return confidence
    try:
        answer = ask(texts)
    except Exception:
        # Whatever the model's side does wrong, the heuristic number is there already.
        return confidence
    if not isinstance(answer, dict) or answer.get("level") not in DESCRIPTIONS:
        return confidence
    score = answer.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return confidence
    return min(1.0, max(0.0, float(score)))
