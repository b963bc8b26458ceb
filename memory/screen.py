"""What happens to every text before it becomes durable: cleaned, redacted, judged."""

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from functools import lru_cache

from django.utils.translation import gettext as _

from memory import text
from memory.extraction import guards

REASONS = guards.REASONS | {
    "ungrounded": "Nobody here said it",
}
# Beside the kinds in a row's flags: a person looked and found it harmless.
RELEASED = "released"
# Where an instruction is what the place is for (a habit, a preference, a task), reading like one is
# no suspicion; everything else still is.
ORDERS = frozenset({"learned", "directive"})


@dataclass(frozen=True)
class Screened:
    """The text as it may be stored, what was taken out of it, and why it is suspicious."""

    text: str
    redacted: list[str] = field(default_factory=list)
    # Kinds of guards.REASONS; in_words() says them to a person.
    reasons: list[str] = field(default_factory=list)

    @property
    def flags(self) -> list[str]:
        return [*self.reasons, *(f"redacted:{kind}" for kind in self.redacted)]


def screen(said: str, *, line: bool = False, but: Set[str] = frozenset()) -> Screened:
    """`line` for what must be one line (a fact, a title); else breaks and indents are kept.

    `but` names kinds of suspicion that do not count in this place.
    """
    kept = text.clean(said).strip()
    if not kept:
        return Screened("")
    reasons, kept, kinds = _judged(kept)
    kept = text.one_line(kept) if line else kept.strip()
    return Screened(kept, list(kinds), [kind for kind in reasons if kind not in but])


def still_suspicious(flags: Iterable[str]) -> bool:
    """Whether these flags of a row raise a suspicion that no person has answered."""
    flags = set(flags)
    return RELEASED not in flags and any(flag in REASONS for flag in flags)


# The same words come by several times on their way: as a message, as a quote, as a fact.
@lru_cache(maxsize=256)
def _judged(said: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    reasons = dict.fromkeys(flag.kind for flag in guards.inspect(said).flags)
    kept, kinds = guards.redact(said)
    return tuple(reasons), kept, tuple(dict.fromkeys(kinds))


def in_words(kinds: Iterable[str]) -> str:
    """The kinds of suspicion as a person reads them."""
    return ", ".join(str(_(REASONS.get(kind, kind))) for kind in kinds)
