"""Cutting text into the pieces the embedded model was trained on (BERT WordPiece, uncased)."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

UNKNOWN, BEGIN, END = 100, 101, 102
LONGEST_WORD = 100
Offset = tuple[int, int]
# The blocks that BERT cuts into single characters.
CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """A vocabulary and the greedy longest match over it."""

    def __init__(self, vocabulary: Path):
        lines = vocabulary.read_text(encoding="utf-8").split("\n")
        self.ids = {piece: number for number, piece in enumerate(lines) if piece}
        self._word = lru_cache(maxsize=20_000)(self._match)

    def encode(self, text: str, *, limit: int = 256) -> list[int]:
        """Return the ids of the text between the marks of its beginning and end."""
        ids = [BEGIN]
        for word, _ in split(text):
            ids += self._word(word)[0]
            if len(ids) >= limit:
                break
        return [*ids[: limit - 1], END]

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[Offset]]:
        """Return all ids of the text, without marks, and where in the text each piece stands."""
        ids: list[int] = []
        offsets: list[Offset] = []
        for word, places in split(text):
            numbers, ends = self._word(word)
            ids += numbers
            for start, end in zip((0, *ends), ends, strict=False):
                offsets.append((places[start][0], places[end - 1][1]))
        return ids, offsets

    def _match(self, word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids of the word's pieces and the end of each in the word."""
        unknown = (UNKNOWN,), (len(word),)
        if len(word) > LONGEST_WORD:
            return unknown
        numbers, ends, start = [], [], 0
        while start < len(word):
            found = self._longest(word, start)
            if not found:
                return unknown
            number, start = found
            numbers.append(number)
            ends.append(start)
        return tuple(numbers), tuple(ends)

    def _longest(self, word: str, start: int) -> tuple[int, int] | None:
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            number = self.ids.get(mark + word[start:end])
            if number is not None:
                return number, end
        return None


def split(text: str) -> Iterator[tuple[str, list[Offset]]]:
    """Yield lower-case words without accents, with the place in the text of each character.

    Punctuation and CJK characters are words of their own. A character that is dropped (an accent,
    a joiner) belongs to the one before it.
    """
    letters: list[str] = []
    places: list[Offset] = []
    for place, char in enumerate(text):
        plain = _plain(char)
        if not plain and places:
            places[-1] = (places[-1][0], place + 1)
        for letter in plain:
            if letter != " ":
                letters.append(letter)
                places.append((place, place + 1))
            elif letters:
                yield "".join(letters), places
                letters, places = [], []
    if letters:
        yield "".join(letters), places


@lru_cache(maxsize=8192)
def _plain(char: str) -> str:
    """Lower case without accents, spaces around what stands alone; empty for what is dropped."""
    apart = unicodedata.normalize("NFD", _visible(char))
    bare = (c for c in apart if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if _stands_alone(c) else c.lower() for c in bare)


def _visible(char: str) -> str:
    if char in "\t\n\r":
        return " "
    if char in "\0�" or unicodedata.category(char) in {"Cc", "Cf", "Co"}:
        return ""
    return " " if char.isspace() else char


def _stands_alone(char: str) -> bool:
    code = ord(char)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(char)[0] == "P" or any(low <= code <= high for low, high in CJK)
