"""Requests to providers, their answers and errors: plain values, the same for all providers."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypedDict

# What a model thinks before it answers counts against its tokens; a short limit would leave nothing
# for the answer.
ROOM_TO_THINK = 4096
Purpose = Literal["chat", "sleep", "expand", "extract", "summarise"]
# Called with the whole text so far, so that a second attempt can simply begin again.
Stream = Callable[[str], None]


class Turn(TypedDict):
    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True)
class Tool:
    """Something that a model may ask Keno to do, with the JSON schema of what it must say."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class ToolCall:
    """What a model asks for; `arguments` are JSON or already read, and nobody has checked them."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True)
class Round:
    """One round with tools: the model's turn as its provider wants it back, and the results."""

    turn: dict[str, Any]
    calls: Sequence[ToolCall]
    results: Sequence[str]


@dataclass(frozen=True)
class Request:
    """One question to one provider. `system` is stable first: its first part may be cached."""

    model: str
    system: Sequence[str]
    messages: Sequence[Turn]
    max_tokens: int = 1024
    timeout: float = 60.0
    stream: Stream | None = None
    tools: Sequence[Tool] = ()
    rounds: Sequence[Round] = ()
    # Whether tools may not be used any more: it must answer now.
    must_answer: bool = False
    # What the built-in provider reads instead of the prose of the prompt.
    briefing: object | None = None


@dataclass(frozen=True)
class Answer:
    """A provider's answer, with its token counts."""

    text: str
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_written: int = 0
    # Only when the provider itself names a price.
    cost: Decimal | None = None
    # What it wants done before it answers, and its turn in the provider's own form.
    calls: Sequence[ToolCall] = ()
    turn: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Completion(Answer):
    """An answer with its price and time, as it was recorded."""

    provider: str = ""
    ms: int = 0


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


def retry_wait(attempt: int, *, retry_after: float | None = None) -> float:
    """Return the seconds to wait after this attempt (from 1), doubling, or the server's wish."""
    backoff = 2 ** (attempt - 1) * (0.5 + random.random())
    return min(max(backoff, retry_after or 0), MAX_WAIT_SECONDS)


def retry_after_seconds(header: str | None) -> float | None:
    """Return a Retry-After header in seconds; None for dates and nonsense."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None


@dataclass(frozen=True)
class Recalled:
    """One memory that was recalled, with where it comes from."""

    text: str
    kind: str = "fact"
    quote: str = ""
    subject: str = ""
    said_by: str = ""
    said_at: datetime | None = None
    score: float = 0.0
    # Whether the asker said it, by their id: a display name proves nothing.
    by_asker: bool = False
    # The month it was last known to be so, "2026-03", when that is too long ago.
    stale: str = ""
    # What its speaker said next, and what somebody else had asked right before.
    after: str = ""
    replies_to: str = ""
    # Whether it was said a moment ago.
    recent: bool = False
    # The chat it is known in, when that is another one, and its page for whoever may look there.
    place: str = ""
    link: str = ""
    # The memory that led to it, when the question does not name the person.
    via: str = ""
    # Whether what it told is over: something else was said since.
    outdated: bool = False
    # The question it was found by, with the name of the person that is only described.
    asked: str = ""
    # Whether another recalled memory says otherwise and nobody has decided yet.
    opposed: bool = False
    # The fact it is, where it stands in a list that was not recalled.
    fact: int = 0


@dataclass(frozen=True)
class Briefing:
    """The person's text, its language, and what was recalled for it."""

    text: str
    # By the clock of the space: "today" is the person's day.
    now: datetime
    language: str = "en"
    person: str = ""
    recalled: Sequence[Recalled] = field(default_factory=tuple)
    # How likely the recall has the answer, and that in words: none, low, medium or high.
    confidence: float = 0.0
    level: str = "none"
    working: str = ""
    # What people said a moment ago in this chat, newest last; a recall leaves that out.
    heard: Sequence[Recalled] = field(default_factory=tuple)
    # What was just learned from the text, and whether it holds a wish about how Keno talks.
    learned: Sequence[str] = ()
    wishes: bool = False
    # Whether it says what is believed already.
    known: bool = False
    # Whether reading it takes longer than the reply may wait: something may still be learned.
    unread: bool = False
    # What another chat knows that the person may see, when this one seems to know nothing.
    elsewhere: Sequence[Recalled] = ()
    # The days that are asked for, in the person's words, when `recalled` is a list of those days.
    days: str = ""
    # A sentence that the first conversation wants said now, word for word.
    script: str = ""
    # Whether with that sentence the first conversation is over.
    completes: bool = False
