"""Read the cues of cues.txt: what a clause says about its speaker, and how surely."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memory.guards import rulebook

FILE = Path(__file__).with_name("cues.txt")
REMEMBER = "remember"
# Many people type without them; each stays one character, so that places stay what they were.
_ACCENTS = str.maketrans("áéíóúüÁÉÍÓÚÜ", "aeiouuAEIOUU")
_ABOUT_SOMETHING = re.compile(
    r"(?i:the|an?|our|my|we|they|he|she|it|there|this|these|those|all|every|no|any|both|on|in|at"
    r"|I(?:['’](?:m|ve|d|ll))?(?! (?:believe|love|trust|told|said)))\b"
    r"|(?i:el|la|los|las|un|una|unos|unas|nuestr[oa]s?|mis?|su|hay|ya|no|se|este|esta|todos?|todas?"
    r"|cada|ningún|ninguna|en|los)\b|[A-ZÁÉÍÓÚÑ]\w|\d"
)


@dataclass(frozen=True)
class Cue:
    category: str
    confidence: float
    pattern: re.Pattern


@cache
def cues(language: str) -> tuple[Cue, ...]:
    """Return the cues in order: the first that matches the beginning of a clause names it."""
    rows = ((*name.split("/"), pattern) for name, pattern in rulebook.read(FILE))
    return tuple(
        Cue(category, float(sure), re.compile(_without_accents(pattern), re.IGNORECASE))
        for tongue, category, sure, pattern in rows
        if tongue == language
    )


def find(clause: str, language: str) -> Cue | None:
    bare = _without_accents(clause)
    fitting = (cue for cue in cues(language) if cue.pattern.match(bare))
    return next((cue for cue in fitting if cue.category != REMEMBER), None)


def states_something(line: str) -> bool:
    """Return whether a line is worth keeping as lore: about something, not a nudge ("to rest")."""
    return bool(_ABOUT_SOMETHING.match(line))


def asked_to_remember(clause: str, language: str) -> str:
    """Return what follows "remember that…", "fyi…", "recuerda que…"; empty without such words."""
    (cue,) = (cue for cue in cues(language) if cue.category == REMEMBER)
    match = cue.pattern.match(_without_accents(clause))
    return clause[match.end() :] if match else ""


def _without_accents(text: str) -> str:
    return text.translate(_ACCENTS)
