"""Take the tags that a model writes out of its reply, sorted by where they go. Pure.

No raw tag ever reaches a person and no text is swallowed by a tag that was never closed. Names are
read in any case, attributes are ignored. A tag inside another belongs to itself, not to the outer
one. Tags in a person's own message are words, never commands: `disarm` takes their power away.
"""

import html
import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import re2

from memory.text.normalise import clean, normalise

FACT = "memory"
CHAT = "chat-memory"
WORKING = "working-memory"
CONTEXT = "chat-context"
USER = "user"
# Named by an old template and understood as <user>, so that it cannot leak.
ALIASES = {"update-preferences": USER}
DONE = "bootstrap-complete"
NAMES = (FACT, CHAT, WORKING, CONTEXT, USER, *ALIASES, DONE)
LINE_LIMIT, LOOKUP_LIMIT = 180, 220

# An attribute may hold anything but angle brackets; a tag that never ends is not a tag.
_ANY_NAME = "|".join(sorted(NAMES, key=len, reverse=True))
_TAG = re2.compile(rf"(?i)<\s*(/?)\s*({_ANY_NAME})\b([^<>]*)>")
_HALF = re2.compile(rf"(?i)<\s*/?\s*(?:{_ANY_NAME})\b[^<>]{{0,80}}$")
_DIRECTIVE = re2.compile(r"(?is)\[\[\s*(MEMORY_LINE|MEMORY_LOOKUP)\s*:\s*([^\[\]]*)\]\]")
_ANY_DIRECTIVE = re2.compile(r"(?is)\[\[\s*[A-Z_]{3,24}\s*(?::[^\[\]]*)?\]\]")
_SKIP = re2.compile(r"(?i)\[SKIP\]")
_BLANKS = re.compile(r"\n{3,}")
_WIDE = str.maketrans("＜＞／", "<>/")
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


@dataclass(frozen=True)
class Split:
    """A reply taken apart: what the person reads, and what goes to which memory."""

    text: str
    facts: tuple[str, ...] = ()
    chat_facts: tuple[str, ...] = ()
    working: str | None = None
    context: str | None = None
    preferences: tuple[str, ...] = ()
    bootstrap_complete: bool = False
    lore: str = ""
    lookup: str = ""
    skip: bool = False


@dataclass
class _Open:
    """A tag that was opened and what has been said in it so far."""

    name: str
    parts: list[str] = field(default_factory=list)


class _Found(NamedTuple):
    name: str
    content: str


def split(reply: str) -> Split:
    """Take a reply apart. Nothing in it can make this fail, and it takes linear time."""
    text, lore, lookup = _from_json(clean(reply, limit=None))
    skip = bool(_SKIP.search(text))
    text, directives = _directives(_SKIP.sub("", text))
    text, closed = _tags(text)
    by_name = {name: [tag.content for tag in closed if tag.name == name] for name in NAMES}
    return Split(
        text=_BLANKS.sub("\n\n", text).strip(),
        facts=tuple(by_name[FACT]),
        chat_facts=tuple(by_name[CHAT]),
        working=by_name[WORKING][-1] if by_name[WORKING] else None,
        context=by_name[CONTEXT][-1] if by_name[CONTEXT] else None,
        preferences=tuple(by_name[USER]),
        bootstrap_complete=bool(by_name[DONE]),
        lore=(lore or directives.get("MEMORY_LINE", ""))[:LINE_LIMIT],
        lookup=(lookup or directives.get("MEMORY_LOOKUP", ""))[:LOOKUP_LIMIT],
        skip=skip,
    )


def disarm(text: str) -> str:
    """Return a person's words with our tags made harmless, however they were spelled or hidden."""
    if not has_tag(text):
        return text
    bare = _undisguised(text)
    safe = _TAG.sub(lambda m: f"‹{m.group(1)}{m.group(2)}{m.group(3)}›", bare)
    return _HALF.sub(lambda m: m.group(0).replace("<", "‹"), _ANY_DIRECTIVE.sub(_round, safe))


def has_tag(text: str) -> bool:
    """Return whether the text holds one of our tags or directives, also in disguise."""
    bare = _undisguised(text)
    return bool(_TAG.search(bare) or _HALF.search(bare) or _ANY_DIRECTIVE.search(bare))


def _undisguised(text: str) -> str:
    """Resolve entities (also twice wrapped), invisible characters and wide brackets."""
    bare = _INVISIBLE.sub("", html.unescape(html.unescape(text)))
    return bare.translate(_WIDE)


def echoes(candidate: str, text: str) -> bool:
    """Return whether the model only repeats what a person put inside a tag of their own (T-04)."""
    if not has_tag(text):
        return False
    bare = _undisguised(text)
    _, closed = _tags(bare)
    _, directives = _directives(bare)
    planted = [tag.content for tag in closed] + list(directives.values())
    content = normalise(candidate)
    return bool(content) and any(
        content in normalise(words) or normalise(words) in content
        for words in planted
        if words.strip()
    )


def _tags(text: str) -> tuple[str, list[_Found]]:
    """Return the text without our tags, and what stood in each, in the order they closed."""
    shown: list[str] = []
    stack: list[_Open] = []
    closed: list[_Found] = []
    end = 0
    for match in _TAG.finditer(text):
        _say(text[end : match.start()], stack, shown)
        end = match.end()
        closing, name = match.group(1) == "/", match.group(2).lower()
        if name == DONE:
            closed.append(_Found(DONE, ""))
        elif closing:
            _close(name, stack, shown, closed)
        elif not match.group(3).rstrip().endswith("/"):
            stack.append(_Open(name))
    _say(text[end:], stack, shown)
    # What was never closed was never meant: its words are the reply's.
    shown += [part for tag in stack for part in tag.parts]
    whole = [_Found(tag.name, _bare(tag.content)) for tag in closed]
    return _bare("".join(shown)), [tag for tag in whole if tag.content or tag.name == DONE]


def _bare(text: str) -> str:
    """Remove what only became a tag when another was taken out of its middle."""
    rest = _HALF.sub("", text)
    if not _TAG.search(rest):
        return rest
    rest = _HALF.sub("", _TAG.sub("", rest))
    return rest.replace("<", "‹") if _TAG.search(rest) else rest


def _say(words: str, stack: list[_Open], shown: list[str]) -> None:
    (stack[-1].parts if stack else shown).append(words)


def _close(name: str, stack: list[_Open], shown: list[str], closed: list[_Found]) -> None:
    """Close the innermost open tag of this name; one that was opened inside it and left is text."""
    place = next((i for i in range(len(stack) - 1, -1, -1) if stack[i].name == name), None)
    if place is None:
        return
    abandoned = stack[place + 1 :]
    tag = stack[place]
    del stack[place:]
    content = "".join([*tag.parts, *(part for other in abandoned for part in other.parts)]).strip()
    if content:
        closed.append(_Found(ALIASES.get(name, name), content))


def _directives(text: str) -> tuple[str, dict[str, str]]:
    values = {match.group(1).upper(): match.group(2).strip() for match in _DIRECTIVE.finditer(text)}
    return _ANY_DIRECTIVE.sub("", text), values


def _from_json(text: str) -> tuple[str, str, str]:
    """Return (text, memory line, lookup) of an answer that is one JSON object, else the text."""
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not bare.startswith("{") or '"text"' not in bare:
        return text, "", ""
    try:
        answer = json.loads(bare)
    except (ValueError, RecursionError):
        return text, "", ""
    if not isinstance(answer, dict) or not isinstance(answer.get("text"), str):
        return text, "", ""
    line, lookup = (answer.get(name) for name in ("memoryLine", "memoryLookupQuery"))
    return answer["text"], *(value if isinstance(value, str) else "" for value in (line, lookup))


def _round(match) -> str:
    return "(" + match.group(0).strip("[]") + ")"
