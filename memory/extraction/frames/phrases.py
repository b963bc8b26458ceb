"""The lists of words in phrases.txt, as patterns."""

import re
from functools import cache
from pathlib import Path

from memory.guards import rulebook

FILE = Path(__file__).with_name("phrases.txt")


@cache
def _patterns() -> dict[str, re.Pattern]:
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in rulebook.read(FILE)}


def phrase(name: str) -> re.Pattern:
    """Return the pattern of that name."""
    return _patterns()[name]


def begins(name: str, text: str) -> bool:
    return phrase(name).match(text) is not None


def holds(name: str, text: str) -> bool:
    return phrase(name).search(text) is not None
