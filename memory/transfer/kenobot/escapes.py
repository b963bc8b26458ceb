"""Text of people inside a Markdown file: it can never become a heading, a rule or a new entry.

Every escape is one backslash more; reading takes exactly that one away again.
"""

import re

from memory import text
from memory.transfer.kenobot.placeholders import is_placeholder

_ENTRY = r"##\s*\d{1,2}:\d{2}"
_BODY_MARK = re.compile(rf"\\*(?={_ENTRY}|---\s*$)")
_BODY_ESCAPED = re.compile(rf"\\(?=\\*(?:{_ENTRY}|---\s*$))")
_ITEM_MARK = re.compile(r"[#>*+=|`~_(<\\-]|\d{1,9}[.)]")
_COMMENT = re.compile(r"<(\\*)!--")
_COMMENT_ESCAPED = re.compile(r"<\\(\\*)!--")


def item(fact: str) -> str:
    """A fact as the text of one list item."""
    line = _COMMENT.sub(r"<\\\1!--", " ".join(text.clean(fact, limit=None).split()))
    return "\\" + line if _is_special(line) else line


def read_item(line: str) -> str:
    if line.startswith("\\") and _is_special(line[1:]):
        line = line[1:]
    return _COMMENT_ESCAPED.sub(r"<\1!--", line)


def _is_special(line: str) -> bool:
    return bool(_ITEM_MARK.match(line)) or is_placeholder(line)


def body(words: str) -> str:
    """The lines of an episode, none of which starts an entry or a front matter."""
    return "\n".join("\\" + line if _BODY_MARK.match(line) else line for line in words.split("\n"))


def read_body(words: str) -> str:
    return "\n".join(_BODY_ESCAPED.sub("", line, count=1) for line in words.split("\n"))
