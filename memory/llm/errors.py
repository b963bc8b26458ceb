"""What can go wrong between Keno and a language model."""


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
