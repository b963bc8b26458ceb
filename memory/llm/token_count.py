"""Estimate the tokens of a text, corrected by what the provider really counted."""

import time
from collections.abc import Callable

from memory.llm.choose import choose
from memory.models import LlmCall, Recall, Space
from memory.text import normalise as text

CALLS_MEASURED = 50
MIN_CALLS = 5
CACHE_SECONDS = 300
# However odd the numbers, an estimate is never off by more than this.
MIN_RATIO, MAX_RATIO = 0.6, 2.0
_ratios: dict[tuple[int, str], tuple[float, float]] = {}


def counter(space: Space) -> Callable[[str], int]:
    """Return a token counter for the model that answers in this space."""
    ratio = correction(space)
    return lambda value: round(text.token_estimate(value) * ratio)


def correction(space: Space) -> float:
    """Return the ratio of counted to estimated tokens, measured on recent prompts."""
    choice = choose("chat", space=space)
    key = (space.pk, f"{choice.provider}:{choice.model}")
    ratio, until = _ratios.get(key, (1.0, 0.0))
    if until < time.monotonic():
        ratio = _measure(space, choice.provider, choice.model)
        _ratios[key] = (ratio, time.monotonic() + CACHE_SECONDS)
    return ratio


def _measure(space: Space, provider: str, model: str) -> float:
    calls = LlmCall.objects.filter(
        space=space, purpose="chat", provider=provider, model=model, message__isnull=False, ok=True
    ).order_by("-pk")[:CALLS_MEASURED]
    real = {call.message_id: call.tokens_in + call.tokens_cached for call in calls}
    rows = Recall.objects.filter(message__in=real, sections__has_key="prompt").values_list(
        "message_id", "sections__prompt"
    )
    pairs = [(real[pk], guess) for pk, guess in rows if guess and real[pk]]
    if len(pairs) < MIN_CALLS:
        return 1.0
    ratio = sum(counted for counted, _ in pairs) / sum(guess for _, guess in pairs)
    return min(MAX_RATIO, max(MIN_RATIO, ratio))
