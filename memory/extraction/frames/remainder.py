"""What a statement tells besides one of its frames, so that a correction takes only what it names.

Pure: of "Ana lives in Valencia with Marc" and the frame "home" it leaves "Ana lives with Marc".
"""

import re

from memory.extraction.frames.clauses import split
from memory.extraction.frames.reading import Frame, frames_of
from memory.text.normalise import fold

# Slots whose value can be cut out and leave a sentence behind.
_CUT_OUT = frozenset({"home", "employer"})
_GOES_ON = re.compile(r"(?i)^\s*(?:with|as|con|como|de)\b")


def remainder(text: str, frame: Frame, *, subject: str = "") -> list[str]:
    """The other statements of the text, in its own words."""
    parts = [part for part in split(text) if part]
    hit = [part for part in parts if _tells(part, frame, subject)]
    if len(hit) != 1:
        return []
    rest = [part for part in parts if part not in hit and _stands_alone(part, subject)]
    return _without_value(hit[0], frame) + rest


def _tells(part: str, frame: Frame, subject: str) -> bool:
    found = frames_of(part, subject=subject)
    return any(one.key == frame.key and one.terms == frame.terms for one in found)


def _stands_alone(part: str, subject: str) -> bool:
    """Keep what has a frame of its own or is long enough to be a statement."""
    return bool(frames_of(part, subject=subject)) or len(part.split()) >= 3


def _without_value(part: str, frame: Frame) -> list[str]:
    """ "Lives in Valencia with Marc" without Valencia; nothing when no more was told."""
    if frame.key not in _CUT_OUT or not frame.value:
        return []
    words = r"\W+".join(map(re.escape, fold(frame.value).split()))
    found = re.search(rf"\s+(?:in|at|for|en|para|a|to) {words}(?!\w)", fold(part))
    # Folding may change the length of a text; then nothing is cut out of it.
    if not found or len(fold(part)) != len(part) or not _GOES_ON.match(part[found.end() :]):
        return []
    return [part[: found.start()] + part[found.end() :]]
