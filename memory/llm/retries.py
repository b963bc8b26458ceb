"""How long to wait before asking again: doubling, with jitter, and the server's wish first."""

import random

ATTEMPTS = 3
LONGEST = 20.0
RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


def wait(attempt: int, *, retry_after: float | None = None, chance: float | None = None) -> float:
    """Seconds to wait after the given attempt (from 1). `chance` is 0..1, random by default."""
    chance = random.random() if chance is None else chance
    backoff = 2 ** (attempt - 1) * (0.5 + chance)
    return min(max(backoff, retry_after or 0), LONGEST)


def seconds(header: str | None) -> float | None:
    """A Retry-After header in seconds; dates and nonsense count as none."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
