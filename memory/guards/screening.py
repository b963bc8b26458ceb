"""Clean, redact and judge every text before it is stored."""

import hashlib
import re
from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from memory.guards import inspect as guards
from memory.models import Episode, Fact, Pattern, Space
from memory.text import normalise as text

# The flag of what a write gate holds, whatever it says.
HELD = "held"
REASONS = guards.REASONS | {
    "ungrounded": "Nobody here said it",
    HELD: "What comes this way is held for you",
}
# Added to a row's flags when a person found it harmless.
RELEASED = "released"
# No suspicion where instructions belong: in a habit, a preference, a task.
ORDERS = frozenset({"learned", "directive"})
# The role of messages that people wrote (models.Message.Role.USER).
BY_PEOPLE = "user"
_OWN_LINE = re.compile(r"^[ \t]*(?:[-*•] )?(?:keno|kenobot|assistant|asistente):.*$", re.I | re.M)


@dataclass(frozen=True)
class Screened:
    """The text as it may be stored, what was redacted, and why it is suspicious."""

    text: str
    redacted: list[str] = field(default_factory=list)
    # Kinds of guards.REASONS; describe_reasons() says them to a person.
    reasons: list[str] = field(default_factory=list)

    @property
    def flags(self) -> list[str]:
        return [*self.reasons, *(f"redacted:{kind}" for kind in self.redacted)]


def screen(
    value: str, *, single_line: bool = False, ignore: Set[str] = frozenset(), judge: bool = True
) -> Screened:
    """Use `single_line` for what must be one line (a fact, a title).

    `ignore` names kinds of suspicion that do not count here. Without `judge` only secrets are
    taken out.
    """
    cleaned = text.clean(value).strip()
    if not cleaned:
        return Screened("")
    reasons = [kind for kind in _reasons(cleaned) if kind not in ignore] if judge else []
    safe, kinds = _redacted(cleaned)
    return Screened(text.one_line(safe) if single_line else safe.strip(), list(kinds), reasons)


def screen_message(value: str, *, role: str) -> Screened:
    """Screen a chat message: people's words are judged, Keno's own are not."""
    return screen(value, judge=role == BY_PEOPLE)


def screen_transcript(value: str, *, ignore: Set[str] = frozenset()) -> Screened:
    """Screen the body of an episode: the lines that begin with Keno's name are not judged."""
    reasons = screen(_OWN_LINE.sub("", value), ignore=ignore).reasons
    return replace(screen(value, judge=False), reasons=reasons)


def redacted(value: str, *, single_line: bool = False) -> str:
    """Return the text without its secrets, for what is stored or shown but not judged."""
    return screen(value, single_line=single_line, judge=False).text


def redacted_values(value: object) -> object:
    """Return the same for every string of a list or a dictionary."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [redacted_values(inner) for inner in value]
    if isinstance(value, dict):
        return {name: redacted_values(inner) for name, inner in value.items()}
    return value


@lru_cache
def version() -> str:
    """Return a digest of the code, rules, limits and weights of the guards."""
    digest = hashlib.sha256()
    for file in sorted(Path(guards.__file__).parent.glob("*.*")):
        if file.suffix in (".py", ".txt", ".toml", ".npz"):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def suspicions(flags: Iterable[str]) -> list[str]:
    """Return the flags that are suspicions; others note what was done to the words."""
    return [flag for flag in flags if flag in REASONS]


def still_suspicious(flags: Iterable[str]) -> bool:
    """Tell whether the flags of a row have a suspicion that no person has answered."""
    flags = set(flags)
    return RELEASED not in flags and bool(suspicions(flags))


# Cached, as the same words come several times: as a message, as a quote, as a fact.
@lru_cache(maxsize=256)
def _reasons(cleaned: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(flag.kind for flag in guards.inspect(cleaned).flags))


@lru_cache(maxsize=256)
def _redacted(cleaned: str) -> tuple[str, tuple[str, ...]]:
    safe, kinds = guards.redact(cleaned)
    return safe, tuple(dict.fromkeys(kinds))


def describe_reasons(kinds: Iterable[str]) -> str:
    """Return the kinds of suspicion as a person reads them."""
    return ", ".join(str(_(REASONS.get(kind, kind))) for kind in kinds)


def pending(space: Space) -> dict[str, QuerySet]:
    """Return the rows in quarantine by kind. An episode has no status for it, only flags."""
    flagged = Q()
    for reason in REASONS:
        flagged |= Q(flags__contains=[reason])
    episodes = Episode.objects.remembered().filter(space=space).exclude(flags=[])
    return {
        "facts": Fact.objects.quarantined().filter(space=space),
        "patterns": Pattern.objects.filter(space=space, status=Pattern.Status.QUARANTINED),
        "episodes": episodes.filter(flagged),
    }
