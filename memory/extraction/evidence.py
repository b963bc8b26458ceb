"""Where a model got something from: the words of a person that carry it, or nothing."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from memory.extraction import grounding
from memory.models import Message
from memory.text import normalise as text
from memory.text.summaries import sentences

LONGEST_QUOTE = 1000


class Evidence(NamedTuple):
    message: Message
    quote: str


def find(candidate: str, messages: Sequence[Message]) -> Evidence | None:
    """The newest message, and its sentence, that carry the candidate.

    Only what people wrote here counts: what was recalled, and what Keno said itself, does not.
    """
    human = [m for m in messages if m.role == Message.Role.USER and m.text.strip()]
    newest_first = list(reversed(human))
    for message in newest_first:
        if grounding.is_grounded(candidate, message.text, names=[message.author]):
            return Evidence(message, quote(candidate, message.text))
    for message, before in pairwise(newest_first):
        # "My dog is called Rex" and then "no, Max": neither says it alone.
        both = f"{before.text}\n{message.text}"
        if grounding.is_grounded(candidate, both, names=[message.author]):
            return Evidence(message, message.text[:LONGEST_QUOTE])
    return None


def quote(candidate: str, said: str) -> str:
    """The sentence of the message that shares most with the candidate, verbatim."""
    wanted = text.stems(candidate)
    parts = sentences(said) or [said.strip()]
    best = max(parts, key=lambda part: (len(wanted & text.stems(part)), -len(part)))
    return best[:LONGEST_QUOTE]
