"""What a reply is made from, as values: the built-in provider reads this instead of the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime


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


@dataclass(frozen=True)
class Briefing:
    """The person's text, its language, and what was recalled for it."""

    text: str
    # By the clock of the space: "today" is the person's day.
    now: datetime
    language: str = "en"
    person: str = ""
    recalled: Sequence[Recalled] = field(default_factory=tuple)
    # none, low, medium or high: how well the recall fits the question.
    level: str = "none"
    working: str = ""
    # What people said a moment ago in this chat, newest last; a recall leaves that out.
    heard: Sequence[Recalled] = field(default_factory=tuple)
    # The fact that was learned last in this chat, a moment ago: what "no, …" is about.
    latest: str = ""
    # A sentence that the first conversation wants said now, word for word.
    script: str = ""
    # Whether with that sentence the first conversation is over.
    completes: bool = False
