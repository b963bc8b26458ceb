"""Lines of KenoBot's templates that nobody has filled in: they are not memories."""

import re

_LABEL = re.compile(r"^(?:\*\*|__)?[^:()]{1,60}:(?:\*\*|__)?\s*(.*)$")
_EMPTY = re.compile(
    r"[*_]*\(\s*(?:pending|to be \w+|tbd|todo|none(?: yet)?|nothing(?: yet)?|not (?:yet )?known"
    r"|unknown|empty|date(?: of first conversation)?|your human'?s name|no durable facts yet\.?"
    r"|pendiente|por (?:aprender|definir|descubrir)|ningun[oa]|nada(?: aún)?|vac[ií]o"
    r"|desconocid[oa])\s*\)[*_.]*",
    re.I,
)
_TEMPLATE = re.compile(
    r"[*_>\s]*(?:my curated memory\. if it's not here, i probably forgot it\."
    r"|last updated: \(date\) by \w+|this file will be populated during our first conversation\."
    r"|see bootstrap\.md for the onboarding flow\.)[*_\s]*",
    re.I,
)


def is_placeholder(line: str) -> bool:
    """Whether the line, without its list mark, still waits to be filled in."""
    line = line.strip()
    if line.startswith("\\"):
        return False  # escaped: somebody did say it
    label = _LABEL.match(line)
    value = label[1].strip() if label else line
    if label and not value:
        return len(line) <= 60
    return bool(_EMPTY.fullmatch(value) or _TEMPLATE.fullmatch(line))
