"""Where a model got something from: the words of a person that carry it, or nothing."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from memory import meaning, text
from memory.extraction import grounding
from memory.models import Message
from memory.summaries import sentences

LONGEST_QUOTE = 1000
# Sentences of a message that are compared by meaning; the rest would only cost time.
COMPARED = 20


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
    return next(filter(None, (_by_meaning(candidate, message) for message in newest_first)), None)


def quote(candidate: str, said: str) -> str:
    """The sentence of the message that shares most with the candidate, verbatim."""
    wanted = text.stems(candidate)
    parts = sentences(said) or [said.strip()]
    best = max(parts, key=lambda part: (len(wanted & text.stems(part)), -len(part)))
    return best[:LONGEST_QUOTE]


def _by_meaning(candidate: str, message: Message) -> Evidence | None:
    """Another wording or the other language: "prefers Spanish" for "háblame en español"."""
    if not _numbers(candidate) <= _numbers(message.text):
        return None
    for part in sentences(message.text)[:COMPARED]:
        if text.stems(part) and meaning.related(candidate, part):
            return Evidence(message, part[:LONGEST_QUOTE])
    return None


def _numbers(said: str) -> set[str]:
    return {word for word in text.words(said) if any(sign.isdigit() for sign in word)}
