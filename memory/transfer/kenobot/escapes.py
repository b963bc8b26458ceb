"""Text of people inside a Markdown file: it can never become a heading, a rule or a new entry.

Every escape is one backslash more; reading takes exactly that one away again."""

import re

from memory.text import normalise as text
from memory.text.frontmatter import FIELD, ITEM

_ENTRY = r"##\s*\d{1,2}:\d{2}"
_BODY_MARK = re.compile(rf"\\*(?={_ENTRY}|---\s*$)")
_BODY_ESCAPED = re.compile(rf"\\(?=\\*(?:{_ENTRY}|---\s*$))")
_ITEM_MARK = re.compile(r"[#>*+=|`~_(<\\-]|\d{1,9}[.)]")
_COMMENT_OPEN = re.compile(r"<(\\*)!--")
_COMMENT_ESCAPED = re.compile(r"<\\(\\*)!--")
FENCE = re.compile(r"---\s*$")
MAX_LINES = 60


def escape_item(fact: str) -> str:
    """Return a fact as the text of one list item."""
    line = _COMMENT_OPEN.sub(r"<\\\1!--", " ".join(text.clean(fact, limit=None).split()))
    return "\\" + line if _is_special(line) else line


def unescape_item(line: str) -> str:
    if line.startswith("\\") and _is_special(line[1:]):
        line = line[1:]
    return _COMMENT_ESCAPED.sub(r"<\1!--", line)


def _is_special(line: str) -> bool:
    return bool(_ITEM_MARK.match(line)) or is_placeholder(line)


def escape_body(content: str) -> str:
    """Escape lines of an episode that would start an entry or a front matter."""
    return "\n".join(
        "\\" + line if _BODY_MARK.match(line) else line for line in content.split("\n")
    )


def unescape_body(content: str) -> str:
    return "\n".join(_BODY_ESCAPED.sub("", line, count=1) for line in content.split("\n"))


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
    """Return whether the line, without its list mark, is an unfilled template line."""
    line = line.strip()
    if line.startswith("\\"):
        return False  # escaped, so a person wrote it
    label = _LABEL.match(line)
    value = label[1].strip() if label else line
    if label and not value:
        return len(line) <= 60
    return bool(_EMPTY.fullmatch(value) or _TEMPLATE.fullmatch(line))


def find_end(lines: list[str], start: int) -> int:
    """Return the line after a front matter that begins at `start`, or `start` if none does."""
    if start >= len(lines) or not FENCE.match(lines[start]):
        return start
    fields = 0
    for at in range(start + 1, min(len(lines), start + MAX_LINES)):
        line = lines[at]
        if FENCE.match(line):
            return at + 1 if fields else start
        is_field = bool(FIELD.match(line))
        fields += is_field
        if line.strip() and not (is_field or ITEM.match(line) or line[:1] == "#"):
            return start
    return start
