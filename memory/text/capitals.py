"""Give names typed in small letters their capitals back, for reading: "is cian allergic?".

A small linear model over a word, its letters and its neighbours, learned from lines of our own by
`python -m bench.capitals --fit`. What people wrote is what is kept and quoted. Pure.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from memory.text.linear import BITS, LinearModel

WEIGHTS = Path(__file__).with_name("capitals.npz")
# How likely a word must be a name: where nothing has a capital, and where sentences begin with one.
ALL_SMALL, SOME_CAPITALS = 0.6, 0.7
# Longer text is seldom typed without capitals, and reading it takes time.
MAX_WORDS = 120
# Not a part of an address, a name of an account or a file.
WORD = re.compile(r"(?<![\w@#/.])[^\W\d_]{2,}(?:['’-][^\W\d_]+)*(?![\w@/]|\.\w)|\b[iI]\b")
SENTENCE_END = re.compile(r"[.!?…:;\n¿¡\"“”()]")
# Words that are capitalised in one language only, or that stand for a person without naming them.
NOT_NAMES = frozenset(
    """i i'm i've i'd i'll monday tuesday wednesday thursday friday saturday sunday january february
    march april may june july august september october november december mondays tuesdays wednesdays
    thursdays fridays saturdays sundays christmas easter santa english spanish french german ok tv
    pm am god mum mom mam dad mama papa mamá papá mr mrs ms dr sr sra don doña grandma grandpa gran
    nan nana granny abuela abuelo tía tío auntie aunt uncle keno""".split()
)


def restored(text: str) -> str:
    """Return the text with capitals for names, if it was typed without; no letter moves."""
    words = list(WORD.finditer(text))
    if len(words) > MAX_WORDS:
        return text
    inside = [word for word in words if not _begins_sentence(text, word.start())]
    if any(_is_capitalised(word[0]) for word in inside):
        return text
    is_small = not any(_is_capitalised(word[0]) for word in words)
    limit = ALL_SMALL if is_small else SOME_CAPITALS
    letters = list(text)
    for sentence in sentences(text, words):
        plain = [bare(word[0]) for word in sentence]
        for place, word in enumerate(sentence):
            capital = word[0][0].upper()
            # "ß" and "ﬁ" have none of one letter: what stands behind would move.
            if len(capital) > 1 or plain[place] in NOT_NAMES:
                continue
            if probability(plain, place) >= limit:
                letters[word.start()] = capital
    return "".join(letters)


def probability(words: Sequence[str], place: int) -> float:
    """Return how likely the word at this place of a sentence is a name."""
    return _model().probability(features(words, place))


@cache
def _model() -> LinearModel:
    return LinearModel.read(WEIGHTS)


def features(words: Sequence[str], place: int, *, is_known: bool = True) -> np.ndarray:
    """Return the buckets that a word in its sentence lights, each once.

    Without `is_known` the word itself is left out, as if it had never been seen.
    """
    lit = _features(words, place, is_known=is_known)
    return np.unique(np.fromiter((zlib.crc32(f.encode()) & ((1 << BITS) - 1) for f in lit), int))


def _features(words: Sequence[str], place: int, *, is_known: bool) -> Iterator[str]:
    word = words[place]
    earlier, before = ["", "", *words[:place]][-2:]
    after, later = [*words[place + 1 :], "", ""][:2]
    if is_known:
        yield f"word {word}"
    yield f"before {before}"
    yield f"after {after}"
    yield f"between {before} {after}"
    yield f"two before {earlier} {before}"
    yield f"two after {after} {later}"
    yield f"length {min(len(word), 9)}"
    yield f"first {place == 0}"
    for size in (1, 2, 3):
        yield f"ends {word[-size:]}"
        yield f"begins {word[:size]}"
    yield f"{before} ends {word[-2:]}"
    framed = f"<{word}>"
    for start in range(len(framed) - 3):
        yield f"letters {framed[start : start + 4]}"


def sentences(text: str, words: Sequence[re.Match]) -> Iterator[list[re.Match]]:
    """Yield the words sentence by sentence."""
    sentence: list[re.Match] = []
    for word in words:
        if sentence and SENTENCE_END.search(text, sentence[-1].end(), word.start()):
            yield sentence
            sentence = []
        sentence.append(word)
    yield sentence


def bare(word: str) -> str:
    """Return the word in small letters without what makes it a possessive."""
    return word.lower().replace("’", "'").removesuffix("'s")


def _begins_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip()
    return not before or bool(SENTENCE_END.match(before[-1]))


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() and bare(word) not in NOT_NAMES
