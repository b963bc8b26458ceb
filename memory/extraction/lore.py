"""Lore: one line a chat tells itself again and again. Pure."""

import re

from memory import text

SHORTEST, LONGEST = 4, 180
CONFIDENCE = 0.72
# "Remember this: …", "no olvides que …": the asking is not part of the line.
ASKING = re.compile(
    r"(?:(?:please\s+)?(?:remember(?:\s+this)?|important|note\s+this|do(?:n['’]?t|\s+not)\s+forget|"
    r"keep\s+in\s+mind|fyi|memory\s+line)|(?:por\s+favor\s+)?(?:recuerda(?:\s+esto)?|importante|"
    r"apunta(?:\s+esto)?|no\s+olvides|ten\s+en\s+cuenta))\b[\s:,–—-]*(?:(?:that|que)\b\s*)?",
    re.IGNORECASE,
)


def line(said: str) -> str:
    """The line without its asking and final stop; empty when too little is left."""
    bare = text.one_line(text.clean(said)).replace("|", "/")
    before = ""
    while before != bare:
        before, bare = bare, ASKING.sub("", bare, count=1) if ASKING.match(bare) else bare
    bare = text.short(bare.rstrip(".!? "), LONGEST)
    return bare if len(bare) >= SHORTEST else ""
