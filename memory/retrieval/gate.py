"""Is it to the point? A probability per memory, the line it must reach, and one word for it."""

import math
from collections.abc import Callable, Mapping

from memory.models import Recall
from memory.retrieval.ranking import Scored

LOW, HIGH = 0.4, 0.7
# Lenient, and nothing passes: the best few all the same, as seed 004 does.
AT_LEAST = 5

DESCRIPTIONS = {
    "none": "No relevant context found",
    "low": "Limited relevant context",
    "medium": "Moderate relevant context",
    "high": "Strong relevant context",
}


def probability(features: Mapping[str, float], curve: Mapping[str, float]) -> float:
    """A logistic curve, fitted on questions that a memory can and cannot answer."""
    x = curve["bias"] + sum(
        weight * features.get(name, 0.0) for name, weight in curve.items() if name != "bias"
    )
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def apply(ranked: list[Scored], passes: Callable[[Scored], bool], *, strict: bool) -> list[Scored]:
    """Mark what is cut; what stays, in its order."""
    kept = [one for one in ranked if passes(one)]
    if not kept and not strict:
        kept = ranked[:AT_LEAST]
    stays = set(map(id, kept))
    for one in ranked:
        one.cut = "" if id(one) in stays else "gate"
    return kept


def level(confidence: float, *, found: bool) -> str:
    """One scale for everything: none, low, medium from .4, high from .7."""
    if not found:
        return Recall.Level.NONE
    if confidence >= HIGH:
        return Recall.Level.HIGH
    return Recall.Level.MEDIUM if confidence >= LOW else Recall.Level.LOW


def describe(of_level: str) -> str:
    return DESCRIPTIONS.get(of_level, DESCRIPTIONS["none"])


def estimate(results: int, confidence: float | None = None) -> tuple[str, float]:
    """How sure a reply may be, by what was found: (level, 0..1)."""
    if confidence is None:
        score = min(1.0, 0.2 + 0.15 * results)
    else:
        score = confidence + (0.1 if results > 5 else 0) - (0.2 if results == 0 else 0)
        score = min(1.0, max(0.0, score))
    return level(score, found=True), score


def judged(confidence: float, texts: list[str], ask: Callable[[list[str]], object] | None) -> float:
    """A model's opinion of the relevance where it gives a usable one; else the heuristic stays."""
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
