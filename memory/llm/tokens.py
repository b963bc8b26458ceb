"""How many tokens a text costs: an estimate, corrected by what the provider really counted."""

import time
from collections.abc import Callable

from memory import text
from memory.llm.choose import choose
from memory.models import LlmCall, Recall, Space

LAST = 50
ENOUGH = 5
SECONDS = 300
# However odd the numbers, an estimate is never off by more than this.
LEAST, MOST = 0.6, 2.0
_known: dict[tuple[int, str], tuple[float, float]] = {}


def counter(space: Space) -> Callable[[str], int]:
    """Counts for the model that answers in this space."""
    ratio = correction(space)
    return lambda said: round(text.token_estimate(said) * ratio)


def correction(space: Space) -> float:
    """Tokens that the provider counted, over those we had estimated for the same prompts."""
    choice = choose("chat", space=space)
    key = (space.pk, f"{choice.provider}:{choice.model}")
    ratio, until = _known.get(key, (1.0, 0.0))
    if until < time.monotonic():
        ratio = _measure(space, choice.provider, choice.model)
        _known[key] = (ratio, time.monotonic() + SECONDS)
    return ratio


def _measure(space: Space, provider: str, model: str) -> float:
    calls = LlmCall.objects.filter(
        space=space, purpose="chat", provider=provider, model=model, message__isnull=False, ok=True
    ).order_by("-pk")[:LAST]
    real = {call.message_id: call.tokens_in + call.tokens_cached for call in calls}
    rows = Recall.objects.filter(message__in=real, sections__has_key="prompt").values_list(
        "message_id", "sections__prompt"
    )
    pairs = [(real[pk], guess) for pk, guess in rows if guess and real[pk]]
    if len(pairs) < ENOUGH:
        return 1.0
    ratio = sum(counted for counted, _ in pairs) / sum(guess for _, guess in pairs)
    return min(MOST, max(LEAST, ratio))
