"""Split a message into clauses that may state something, verbatim and with their place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory.extraction.grammar.sentences import data_beside
from memory.text.normalise import TITLES

_DATA = data_beside(__file__)

# The point of a title ends no sentence: "my doctor is Dr. Salas".
_TITLES = "|".join(rf"(?<=\b{name})\." for name in TITLES)
# Nor that of a number: "the Franck Chorale No. 3".
_NUMBERED = r"(?<=\b[Nn]o)\.(?= ?\d)|(?<=\b[Nn]úm)\.(?= ?\d)"
# "my gf is maya ❤️ her bday is dec 3": a picture may end a sentence, too.
_PICTURES = "\u2600-\u27bf\ufe0f\U0001f300-\U0001faff"
_PICTURE = re.compile(rf"[{_PICTURES}]+")
_SENTENCE = re.compile(
    rf"(?:[^.!?…;\n{_PICTURES}]|(?<=\w)\.(?=\w)|{_TITLES}|{_NUMBERED})+[.!?…;{_PICTURES}]*",
    re.DOTALL,
)
_BLANK = "\ufffc"


@dataclass(frozen=True)
class Clause:
    """Characters `start` to `end` of a message."""

    start: int
    end: int
    text: str

    def part(self, start: int, end: int) -> "Clause":
        """Return characters of this clause, without the spaces around them."""
        text = self.text[start:end]
        start += len(text) - len(text.lstrip())
        return Clause(self.start + start, self.start + start + len(text.strip()), text.strip())


def statements(message: str) -> list[Clause]:
    """Return the clauses that may state something; questions, code and jokes are left out."""
    if is_joke(message) or message.lstrip().startswith("/"):
        return []
    parts = (
        part
        for sentence in sentences(message)
        if "?" not in sentence.text and "¿" not in sentence.text
        for part in _split(sentence)
    )
    return [part for part in parts if part.text and _BLANK not in part.text]


def clauses(message: str) -> list[str]:
    """Return the words of the statements."""
    return [clause.text for clause in statements(message)]


def sentences(message: str) -> list[Clause]:
    """Return the sentences; code and quoted lines are blanked out, character by character."""
    own = _spoken(message)
    whole = Clause(0, len(own), own)
    parts = (whole.part(*match.span()) for match in _SENTENCE.finditer(own))
    return [sentence for sentence in parts if sentence.text]


def own_words(message: str) -> str:
    """Return the message with code, quotes and pasted mail blanked out, character by character.

    And what only says that it is so: the listener hears less behind "en realidad".
    """
    own = _DATA.owned.sub(_blank, _spoken(message)).replace(_BLANK, " ")
    return _PICTURE.sub(lambda found: "." + " " * (len(found[0]) - 1), own)


def _spoken(message: str) -> str:
    for pattern in (_DATA.pasted, _DATA.code, _DATA.quoted_line):
        message = pattern.sub(_blank, message)
    return message


def ends_in_title(words: str) -> bool:
    """Return whether the words break off in a title: "my doctor is Dr."."""
    last = words.rstrip(".").rpartition(" ")[2]
    return last in TITLES


def is_joke(message: str) -> bool:
    """Return whether the message takes itself back: "jk", "es broma"."""
    return bool(_DATA.joke.search(message))


def is_real(clause: str) -> bool:
    """Return whether the speaker states it as a fact: not wished, supposed, guessed or quoted."""
    return not (
        _DATA.unreal.search(clause) or _DATA.reported.search(clause) or _DATA.spoken.search(clause)
    )


def core(clause: str) -> str:
    """Return the clause without its opening words, asides and final mark."""
    return core_of(Clause(0, len(clause), clause)).text


def core_of(clause: Clause) -> Clause:
    """Return the clause without its opening words, asides and final mark, with its place."""
    opening = _DATA.opening.match(clause.text)
    start = opening.end() if opening else 0
    aside = _DATA.aside.search(clause.text, start)
    bare = clause.text[: aside.start() if aside else None].rstrip().rstrip(".!…;,: ")
    return clause.part(start, max(start, len(bare)))


def _split(sentence: Clause) -> Iterator[Clause]:
    start = 0
    for match in _DATA.joint.finditer(sentence.text):
        yield sentence.part(start, match.start())
        start = match.end()
    yield sentence.part(start, len(sentence.text))


def _blank(match: re.Match) -> str:
    """Return blanks of the same length, so that the rest stays in place; they are never quoted."""
    return "".join("\n" if c == "\n" else _BLANK for c in match.group())
