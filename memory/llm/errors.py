"""Errors of language models, and how long to wait before trying again."""

import random


class ProviderError(Exception):
    """The language model did not answer.

    `permanent` means that trying again changes nothing until a person changes a setting;
    `again` means that trying at once may help; `retry_after` is the provider's own wish in seconds;
    `ours` means that this one request was at fault, so it says nothing about the provider.
    The text is for the owner and the log, never for the person in the chat.
    """

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        again: bool = False,
        ours: bool = False,
        retry_after: float | None = None,
    ):
        super().__init__(message)
        self.permanent = permanent
        self.again = again
        self.ours = ours
        self.retry_after = retry_after


class Resting(ProviderError):
    """The provider failed too often in a row and is left alone for a while."""


class BudgetSpent(ProviderError):
    """The budget of the day or month is spent and the space is set to pause."""


class NotAvailable(ProviderError):
    """No language model is set up for this purpose; the heuristics do it."""


MAX_ATTEMPTS = 3
MAX_WAIT_SECONDS = 20.0
RETRYABLE_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


def retry_wait(
    attempt: int, *, retry_after: float | None = None, chance: float | None = None
) -> float:
    """Return the seconds to wait after this attempt (from 1), doubling, with jitter.

    `retry_after` is the server's wish; `chance` is 0..1, random by default.
    """
    chance = random.random() if chance is None else chance
    backoff = 2 ** (attempt - 1) * (0.5 + chance)
    return min(max(backoff, retry_after or 0), MAX_WAIT_SECONDS)


def retry_after_seconds(header: str | None) -> float | None:
    """Return a Retry-After header in seconds; None for dates and nonsense."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
