"""Chat shorthand written out ("im" as "I'm", "q" as "que"), so that rules and models can read it.

For reading only: what people wrote is what is kept and quoted. Pure.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from memory.text import capitals
from memory.text.normalise import LISTS, detect_language

_BEFORE_HOUR = "at by from until till after before around to of"
_HOUR = "".join(rf"(?<!\b{word} )" for word in _BEFORE_HOUR.split())
# What is shorthand only before some words: "its thursday", "has 2 go back", "pa acordarme".
_BEFORE = {
    "en": r"(?P<its>its)(?= (?:not|on|at|the|an?|now|just|still|so|really|been|too|going|called"
    r"|(?:mon|tue|wed|thu|fri|sat|sun)\w*|\d))"
    rf"|{_HOUR}(?P<to>2)(?= (?:me|us|him|her|them|the|my|our|your|be|live|send|cry|go|hold|drop"
    r"|bring|see|get|do|have|make|come|eat|buy|take|give|tell|know|say|sleep|stay|leave|pay|meet"
    r"|find|learn|ask|keep|let|put)\b)"
    r"|(?:(?<=moving )|(?<=allergic )|(?<=applying ))(?P<whereto>2)(?=\W*$)"
    rf"|{_HOUR}(?P<for>4)(?= (?:me|us|him|her|them|the|my|ours?|your|u|this|that|everyone|sure)\b)",
    "es": r"(?:(?<=\bhe )|(?<=\bha )|(?<=\bhas )|(?<=\bhan )|(?<=\bhemos ))"
    r"(?!medio\b)(?P<participle>\w+ao|\w*[^\W\daeiou]io)\b"
    r"|(?P<para>pa)(?= (?:q|que|el|la|los|las|mi|tu|su|\w+[aei]r(?:me|te|se|lo|la|nos)?)\b)"
    r"|(?:(?<=\bmi )|(?<=\btu )|(?<=\bsu )|(?<=\bel )|(?<=\bdel )|(?<=\bal )|(?<=\bun ))"
    r"(?P<birthday>cumple)\b(?! (?:\d|años|con\b))"
    # "me llamo bruno, que se muda" is no name but a call; "me llamo ana, que tal" is a name.
    r"|(?<=\bme )(?P<called>llamo)(?= (?:mi \w+|\w+,? (?:que (?:se|va|vienen?|est[aá]n?|quiere)\b"
    r"|y me (?:dijo|cont[oó]|pidi[oó]))))",
}
_WRITTEN_OUT = {"its": "it's", "to": "to", "whereto": "to", "for": "for", "para": "para",
                "called": "llamó", "birthday": "cumpleaños"}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """A text as it is read and as it was written."""

    text: str
    written: str
    # Of each word that was written out: where it stands in `text`, and where in `written`.
    changes: tuple[tuple[int, int, int, int], ...] = ()

    def as_written(self, words: str) -> str:
        """Return these words of the reading as they were written."""
        start = self.text.find(words)
        return words if start < 0 else self.written[slice(*self.span(start, start + len(words)))]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where characters of the reading stand in what was written."""
        return _placed(self.changes, start), _placed(self.changes, end, is_end=True)

    def as_read(self, start: int, end: int) -> str:
        """Return how these characters of what was written are read."""
        back = [(before, after, start, end) for start, end, before, after in self.changes]
        return self.text[_placed(back, start) : _placed(back, end, is_end=True)]


def _placed(
    changes: Sequence[tuple[int, int, int, int]], place: int, *, is_end: bool = False
) -> int:
    shift = 0
    for start, end, other_start, other_end in changes:
        if place <= start:
            break
        if place < end:
            return other_end if is_end else other_start
        shift = other_end - end
    return place + shift


@lru_cache(maxsize=512)
def read(text: str) -> Reading:
    """Return the text with its shorthand written out and capitals for names typed in small letters.

    In no known language the shorthand is that of both.
    """
    language = detect_language(text)
    parts: list[str] = []
    changes: list[tuple[int, int, int, int]] = []
    at = length = 0
    for match in _pattern(language).finditer(text):
        word = _word(match, language)
        between = text[at : match.start()]
        start = length + len(between)
        changes.append((start, start + len(word), *match.span()))
        parts += [between, word]
        at, length = match.end(), start + len(word)
    return Reading(capitals.restored("".join([*parts, text[at:]])), text, tuple(changes))


def written_out(text: str) -> str:
    return read(text).text


def _word(match: re.Match, language: str) -> str:
    if match.lastgroup == "participle":  # "me he comprao un traje"
        word = f"{match[0][:-1]}do"
    elif match.lastgroup:
        word = _WRITTEN_OUT[match.lastgroup]
    else:
        word = _words(language)[match[0].lower()]
        # "xq tomo hierro" asks, "tomo hierro xq tengo anemia" tells.
        begins = not match.string[: match.start()].rstrip().strip("¿")
        word = "por qué" if word == "porque" and begins else word
    return word[:1].upper() + word[1:] if match[0][:1].isupper() else word


@cache
def _words(language: str) -> dict[str, str]:
    rows = LISTS["shorthand"]
    listed = rows.get(language) or f"{rows['en']}|{rows['es']}"
    pairs = (pair.split(maxsplit=1) for pair in listed.split("|"))
    return {short: word.strip() for short, word in pairs}


@cache
def _pattern(language: str) -> re.Pattern:
    listed = sorted(_words(language), key=len, reverse=True)
    # A capital alone is an initial; beside a figure "k" and "x" are a unit and a sign.
    single = "".join(word for word in listed if len(word) == 1)
    longer = "|".join(re.escape(word) for word in listed if len(word) > 1)
    before = "|".join(_BEFORE[name] for name in _BEFORE if language in (name, ""))
    return re.compile(
        rf"(?<![\w'’@#./&-])(?:(?i:{longer}|{before})|(?!(?<=\d )[kx]|[kx] ?\d)[{single}])"
        r"(?![\w'’@/&-]|\.\w)"
    )
