"""A message taken apart into clauses that may state something, verbatim."""

import re
from pathlib import Path

from memory.extraction import rulebook
from memory.stop_words import TITLES

_CODE = re.compile(r"```.*?(?:```|$)|`[^`\n]*`", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
# The point of a title ends no sentence: "my doctor is Dr. Salas".
_TITLES = "|".join(rf"(?<=\b{name})\." for name in TITLES)
_SENTENCE = re.compile(rf"(?:[^.!?…;\n]|(?<=\w)\.(?=\w)|{_TITLES})+[.!?…;]*", re.DOTALL)
_WORDS = dict(rulebook.read(Path(__file__).with_name("clauses.txt")))
_JOINT, _OPENING, _JOKE, _UNREAL = (
    re.compile(_WORDS[name], re.IGNORECASE) for name in ("joint", "opening", "joke", "unreal")
)
_REPORTED = re.compile(_WORDS["reported"])
# What follows only comments on the statement.
_ASIDE = re.compile(
    r"\s+[-–—]+\s+|,\s+(?=(?:but|so|which|it's|it’s|because|cause|pero|así que|lo que|porque)\b)",
    re.I,
)
_SPOKEN = re.compile(r"[\"“«][^\"”»\n]{2,}[\"”»]")


def clauses(message: str) -> list[str]:
    """Statements of the message, each a verbatim part of it; questions, code and jokes left out."""
    if _JOKE.search(message) or message.lstrip().startswith("/"):
        return []
    spoken = _QUOTED_LINE.sub(_blank, _CODE.sub(_blank, message))
    found = []
    for sentence in _SENTENCE.findall(spoken):
        if "?" in sentence or "¿" in sentence or not sentence.strip():
            continue
        found += [part.strip() for part in _JOINT.split(sentence) if part and part.strip()]
    return [clause for clause in found if "\ufffc" not in clause]


def is_real(clause: str) -> bool:
    """Said as a fact by the speaker: not wished, supposed, dreamt, guessed or quoted."""
    return not (_UNREAL.search(clause) or _REPORTED.search(clause) or _SPOKEN.search(clause))


def core(clause: str) -> str:
    """The clause without its opening words, asides and final mark."""
    opening = _OPENING.match(clause)
    bare = _ASIDE.split(clause[opening.end() :] if opening else clause, maxsplit=1)[0]
    return bare.strip().rstrip(".!…;,: ").strip()


def _blank(match: re.Match) -> str:
    """Same length, so that what is left stays where it was; marks what may not be quoted across."""
    return "".join("\n" if c == "\n" else "\ufffc" for c in match.group())
