"""Split statements into clauses, and tell whether one affirms, denies or ends what it tells."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memory.extraction.frames.readers import BEINGS
from memory.extraction.frames.vocabulary import (
    begins,
    canonical,
    classes,
    holds,
    phrase,
    terms,
    tokens,
)
from memory.extraction.grammar.sentences import data_beside
from memory.text.normalise import fold

_DATA = data_beside(__file__)


def _replacements(name: str, shape: str = "%s") -> list[tuple[re.Pattern, str]]:
    """Return the pairs of a pattern and its replacement that the table holds."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return [(re.compile(shape % pattern, re.IGNORECASE), new) for pattern, new in tables[name]]


# Letters that keep their accent, while the other accents go.
_HIDE = str.maketrans("éóíÉÓÍ", "\ue000\ue001\ue002" * 2)
_SHOW = str.maketrans("\ue000\ue001\ue002", "éóí")
_SPELLINGS = _replacements("spellings", r"\b(?:%s)(?!\w)")
_IDIOMS = _replacements("idioms", r"\b(?:%s)\b")
_ENDED, _NEGATED = _replacements("ended"), _replacements("negated")


@dataclass(frozen=True)
class Stance:
    """How a clause stands to what it tells, and the clause as if it simply were so."""

    bare: str
    negated: bool = False
    ended: bool = False
    unclear: bool = False
    # What stands before the negation: what is told before it is not denied by it.
    before: str = ""


def plain(text: str) -> str:
    """Return the text without markup and accents, spelled out; an accent that ends a verb stays."""
    line = unicodedata.normalize("NFC", text).replace("’", "'").replace("`", "'")
    line = _DATA.markup.sub("", line)
    line = _DATA.ending_accent.sub(lambda match: match[0].translate(_HIDE), line)
    line = _DATA.accents.sub("", unicodedata.normalize("NFD", line)).translate(_SHOW)
    for pattern, full in _SPELLINGS:
        line = pattern.sub(full, line)
    return _DATA.spaces.sub(" ", line).strip()


@lru_cache(maxsize=4096)
def read_stance(clause: str) -> Stance:
    """Find out how a clause (as `plain` gives it) stands, and take its negation out."""
    line = _DATA.starting.sub("", clause)
    for pattern, instead in _IDIOMS:
        line = pattern.sub(instead, line)
    if _DATA.shrugs.search(line):
        return Stance(line, negated=True, unclear=True)
    doubled = bool(_DATA.spanish_no.search(line))
    left, ended = _strip(line, _ENDED)
    if ended is None and _DATA.long_ago.search(line):
        left, ended = _DATA.long_ago.sub(" ", line), ""
    left, negated = (left, None) if ended is not None else _strip(left, _NEGATED)
    if doubled:
        left = _DATA.repeated.sub(" ", left)
    left = _DATA.spaces.sub(" ", left).strip()
    unclear = bool(_DATA.left.search(left))
    before = (ended or "") + (negated or "")
    return Stance(left, negated is not None, ended is not None, unclear, before.strip())


def is_negative(text: str) -> bool:
    """Return whether the text denies something or says that it is over."""
    stance = read_stance(plain(text))
    return stance.negated or stance.ended or stance.unclear


def _strip(line: str, patterns: Iterable[tuple[re.Pattern, str]]) -> tuple[str, str | None]:
    """Take out the first pattern that is found; return what stood before it, or None."""
    for pattern, left in patterns:
        if match := pattern.search(line):
            return pattern.sub(left, line, count=1), line[: match.start()]
    return line, None


_PEOPLE = BEINGS | {"job", "number"}


@dataclass(frozen=True)
class Clause:
    """A clause and, where it only goes on, whom the words before it were about."""

    text: str
    # Words that name whom a "she" or a bare verb means; None when that cannot be told.
    about: str | None = ""


def clauses(line: str) -> Iterator[Clause]:
    """Part a line, and find whom each part is about."""
    before = ""
    about: str | None = ""
    for text in split(line):
        goes_on = bool(before) and begins("begins_third", text)
        # Whoever could not be told stays so: "my brother has a girlfriend, she's Ximena and is …".
        lost = goes_on and about is None
        about = None if lost else _about(before) if goes_on else ""
        yield Clause(text, about)
        before = text


def split(line: str) -> Iterator[str]:
    """Part a line where another verb begins; "my boss, Ana, is ill" stays whole."""
    for sentence in phrase("sentence").split(line):
        parts = phrase("joint").split(sentence)
        yield from _whole(part.strip(" .,!") for part in parts if part)


def _whole(parts: Iterator[str]) -> Iterator[str]:
    joined = ""
    for part in parts:
        if not part:
            continue
        joined = f"{joined}, {part}" if joined else part
        if holds("has_verb", joined):
            yield joined
            joined = ""
    if joined:
        yield joined


def _about(before: str) -> str | None:
    """Return whom the next clause goes on about, by the clause before it."""
    match = phrase("before_verb").match(before)
    subject, rest = (match["s"], match["rest"]) if match else ("", before)
    others = list(filter(_is_being, terms(rest)))
    first = match and phrase("first_verb").fullmatch(match["verb"])
    if not match or first or holds("myself", subject):
        return others[0] if len(others) == 1 else None
    return subject if not others else None


def is_real(whose: str) -> bool:
    """Return whether what stands before the verb leaves it plain: no wish, no hearsay."""
    words = re.findall(r"[\w'-]+", fold(whose))
    if holds("unreal", whose) or holds("aside_relative", whose):
        return False
    return not any(word in _DATA.other_verbs for word in words)


def spoken_of(whose: str) -> str | None:
    """Return the words that name whom the verb is about; None when a "she" cannot be told.

    "Every weekend, he" is about him, "Teddy and I" about the speaker; "my grandma knits, she"
    names whom it means.
    """
    subjects = list(phrase("subject").finditer(whose))
    if not subjects or (len(subjects) == 1 and not whose[: subjects[0].start()].strip(" ,")):
        if not begins("begins_first", whose):
            return whose
        more = [word for word in tokens(whose) if word not in _DATA.not_whose]
        # "I am Ana, from sales, based" tells of the speaker; "I swell up like" does not.
        return "" if not more or "," in whose else None
    before, last = whose[: subjects[-1].start()], subjects[-1].group().lower()
    if last in {"i", "yo", "we"}:
        return ""
    named = [word for word in re.findall(r"[\w'-]+", before) if _names_somebody(word)]
    return named[0] if len(named) == 1 else None


def holder(whose: str, subject: str) -> frozenset[str] | None:
    """Return who it is about when not the subject; None when too many words stand there."""
    own = set(tokens(subject))
    meanings = frozenset(
        meaning
        for word in tokens(whose)
        if word not in _DATA.not_whose and word not in own and (meaning := canonical(word))
    )
    return meanings if len(meanings) <= 3 else None


def _names_somebody(word: str) -> bool:
    is_name = word[0].isupper() and fold(word) not in _DATA.not_whose
    return is_name or any(map(_is_being, terms(word)))


def _is_being(term: str) -> bool:
    return bool(classes(term) & BEINGS)


def is_somebody(whose: str, meanings: frozenset[str]) -> bool:
    """Return whether a person or a pet is meant: only they live somewhere, have a job."""
    if not meanings:
        return not holds("points_at_nothing", whose)
    if whose == whose.lower():
        is_one = len(meanings) == 1 and not begins("definite", whose)
        return is_one or any(map(_is_being, meanings))
    strange = [term for term in meanings if not _is_person(term, whose)]
    return len(strange) <= (1 if any(map(_is_being, meanings)) else 0)


def is_named(whose: str, meanings: frozenset[str]) -> bool:
    """Return whether only beings and names stand there, no thing of theirs."""
    if whose == whose.lower() and not holds("possessive", whose):
        return True
    return all(_is_person(term, whose) for term in meanings)


def _is_person(term: str, whose: str) -> bool:
    """Return whether it means somebody or is written like a name."""
    if classes(term) & _PEOPLE:
        return True
    match = re.search(rf"(?<!\w){re.escape(term[:3])}\w*", fold(whose))
    start = match.start() if match else 0
    return whose[start : start + 1].isupper()
