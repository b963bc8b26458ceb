"""Phrases a reply must not hold. Pure, and linear in the length of the reply."""

import re
from dataclasses import dataclass
from functools import lru_cache

import re2

SPACES = re.compile(r"\s+")
REPLY_LENGTH = 100_000
PATTERN_LENGTH = 500


class BadPattern(ValueError):
    """This pattern cannot be used."""


@dataclass(frozen=True)
class Phrase:
    """`phrase` is literal and counts between word borders; a pattern is matched as it is."""

    phrase: str
    reason: str = ""
    pattern: bool = False
    rule: str = ""


def held(reply: str, phrases: list[Phrase]) -> list[Phrase]:
    """The phrases this reply holds, each once, in their order."""
    heard = SPACES.sub(" ", reply[:REPLY_LENGTH].casefold())
    return [one for one in phrases if (_matches if one.pattern else _stands)(one.phrase, heard)]


def check(pattern: str) -> None:
    """Refuse, with a sentence, a pattern that could not be matched in linear time."""
    if len(pattern) > PATTERN_LENGTH:
        raise BadPattern(f"A pattern may have {PATTERN_LENGTH} signs.")
    try:
        _compiled(pattern)
    except re2.error as error:
        raise BadPattern(f"This pattern cannot be used: {_sentence(error)}.") from error


def _stands(phrase: str, heard: str) -> bool:
    """Whether the phrase stands in the text by itself: "um" is not in "summary"."""
    wanted = SPACES.sub(" ", phrase.casefold()).strip()
    at = heard.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        if _free(heard, at - 1, wanted[0]) and _free(heard, end, wanted[-1]):
            return True
        at = heard.find(wanted, at + 1)
    return False


def _free(heard: str, at: int, edge: str) -> bool:
    outside = not 0 <= at < len(heard)
    return outside or not _of_word(edge) or not _of_word(heard[at])


def _of_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _matches(pattern: str, heard: str) -> bool:
    try:
        return bool(_compiled(pattern).search(heard))
    except (re2.error, UnicodeEncodeError):
        return False  # stored before it was checked, or by an import: it forbids nothing


@lru_cache(maxsize=512)
def _compiled(pattern: str):
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = 1 << 20
    return re2.compile(pattern, options)


def _sentence(error: Exception) -> str:
    said = error.args[0] if error.args else "it is not understood"
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
