"""Where a model got something from: the words of a person that carry it, or nothing."""

from collections.abc import Sequence
from typing import NamedTuple

from memory import meaning, text
from memory.models import Message
from memory.summaries import sentences

# Of what a candidate says, this share must have been said by somebody.
CARRIED = 0.5
# How models name the person they talk to: it need not have been said.
SPEAKER = text.stems("user usuario usuaria person persona speaker hablante human")
LONGEST_QUOTE = 1000


class Evidence(NamedTuple):
    message: Message
    quote: str


def find(candidate: str, messages: Sequence[Message]) -> Evidence | None:
    """The message and sentence that carry the candidate; the newest of equals.

    Only what people wrote here counts: what was recalled, and what Keno said itself, does not.
    """
    human = [m for m in messages if m.role == Message.Role.USER and m.text.strip()]
    wanted = text.stems(candidate) - SPEAKER
    best: tuple[float, Evidence] | None = None
    for message in reversed(human):
        names = text.stems(message.author)
        share = _share(wanted - names, text.stems(message.text)) if wanted - names else 0.0
        if share >= CARRIED and (best is None or share > best[0]):
            best = share, Evidence(message, quote(candidate, message.text))
    return best[1] if best else _by_meaning(candidate, human)


def quote(candidate: str, said: str) -> str:
    """The sentence of the message that shares most with the candidate, verbatim."""
    wanted = text.stems(candidate)
    parts = sentences(said) or [said.strip()]
    best = max(parts, key=lambda part: (_share(wanted, text.stems(part)), -len(part)))
    return best[:LONGEST_QUOTE]


def _share(wanted: set[str], said: set[str]) -> float:
    return len(wanted & said) / len(wanted) if wanted else 0.0


def _by_meaning(candidate: str, human: Sequence[Message]) -> Evidence | None:
    """Another wording or the other language: "prefers Spanish" for "háblame en español"."""
    for message in reversed(human):
        for part in sentences(message.text)[:20]:
            if len(text.stems(part)) >= 1 and meaning.related(candidate, part):
                return Evidence(message, part[:LONGEST_QUOTE])
    return None
