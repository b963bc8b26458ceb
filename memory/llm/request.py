"""Requests to providers and their answers: plain values, the same for all providers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypedDict

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
class Request:
    """One question to one provider. `system` is stable first: its first part may be cached."""

    model: str
    system: Sequence[str]
    messages: Sequence[Turn]
    max_tokens: int = 1024
    timeout: float = 60.0
    stream: Stream | None = None
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


@dataclass(frozen=True)
class Completion:
    """An answer with its price and time, as it was recorded."""

    text: str
    model: str
    provider: str
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost: Decimal | None = None
    ms: int = 0
    call_id: int | None = field(default=None, compare=False)
