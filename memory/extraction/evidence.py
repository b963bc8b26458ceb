"""Find the message of a person that a fact rests on, and who spoke there."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from memory.chats.service import FORWARDED
from memory.extraction import grounding
from memory.extraction.clauses import own_words
from memory.models import Entity, Fact, Message
from memory.models.entity import key_of
from memory.models.prepared import prepared
from memory.text import normalise as text
from memory.text.summaries import sentences

LONGEST_QUOTE = 1000
# The names among which those in a message are looked for.
MAX_NAMES = 1000
# A stranger's words in somebody's mouth: believed only when a person says so, and little then.
FORWARDED_TRUST = 0.3


class Evidence(NamedTuple):
    message: Message
    quote: str


def is_forwarded(message: Message) -> bool:
    return any(flag.startswith(FORWARDED) for flag in message.flags)


def speaker(message: Message) -> str:
    """Return who says the words: of a forwarded message not who sent it here."""
    origins = [flag for flag in message.flags if flag.startswith(FORWARDED)]
    return origins[0].removeprefix(FORWARDED) if origins else message.author


def known_names(message: Message) -> list[str]:
    """Return the names in the message that facts of this chat, or of its space, are about."""
    words = [word.removesuffix("'s") for word in text.words(text.fold(message.text))]
    keys = [key_of(word) for word in words]
    names = {name for [name] in _names(space=message.space_id, chat=message.chat_id, keys=keys)}
    return [name for name in sorted(names) if set(words).issuperset(text.words(text.fold(name)))]


@prepared(space="bigint", chat="bigint", keys="varchar[]")
def _names(space, chat, keys):
    about = Fact.objects.known_in(space, chat).live().exclude(subject="")
    subjects = about.order_by().values_list("subject").distinct()[:MAX_NAMES]
    entities = Entity.objects.filter(space=space).in_scope(chat).filter(keys__overlap=keys)
    return subjects.union(entities.order_by().values_list("name")[:MAX_NAMES])


def find(candidate: str, messages: Sequence[Message]) -> Evidence | None:
    """Return the newest message, and its sentence, that carry the candidate.

    Only what people wrote here counts: what was recalled, and what Keno said itself, does not.
    """
    human = [m for m in messages if m.role == Message.Role.USER and m.text.strip()]
    newest_first = list(reversed(human))
    for message in newest_first:
        # What is quoted or pasted there was said by somebody else.
        if grounding.is_grounded(candidate, own_words(message.text), names=[message.author]):
            return Evidence(message, quote(candidate, message.text))
    for message, before in pairwise(newest_first):
        # "My dog is called Rex" and then "no, Max": neither says it alone.
        both = own_words(f"{before.text}\n{message.text}")
        if grounding.is_grounded(candidate, both, names=[message.author]):
            return Evidence(message, message.text[:LONGEST_QUOTE])
    return None


def quote(candidate: str, source: str) -> str:
    """Return the sentence of the source that shares most with the candidate, verbatim."""
    roots = text.stems(candidate)
    parts = sentences(source) or [source.strip()]
    best = max(parts, key=lambda part: (len(roots & text.stems(part)), -len(part)))
    return best[:LONGEST_QUOTE]
