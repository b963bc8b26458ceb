"""Cutting text into the pieces the embedded model was trained on (BERT WordPiece, uncased)."""

import unicodedata
from functools import lru_cache
from pathlib import Path

UNKNOWN, BEGIN, END = 100, 101, 102
LONGEST_WORD = 100
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
        ids = [BEGIN]
        for word in split(text):
            ids += self._word(word)
            if len(ids) >= limit:
                break
        return [*ids[: limit - 1], END]

    def _match(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return (UNKNOWN,)
        pieces, start = [], 0
        while start < len(word):
            found = self._longest(word, start)
            if not found:
                return (UNKNOWN,)
            number, start = found
            pieces.append(number)
        return tuple(pieces)

    def _longest(self, word: str, start: int) -> tuple[int, int] | None:
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            number = self.ids.get(mark + word[start:end])
            if number is not None:
                return number, end
        return None


def split(text: str) -> list[str]:
    """Lower-case words without marks; punctuation and CJK characters stand alone."""
    bare = unicodedata.normalize("NFD", "".join(map(_visible, text)))
    bare = "".join(c for c in bare if unicodedata.category(c) != "Mn").lower()
    return "".join(f" {c} " if _stands_alone(c) else c for c in bare).split()


@lru_cache(maxsize=4096)
def _visible(char: str) -> str:
    if char in "\t\n\r":
        return " "
    if char in "\0�" or unicodedata.category(char) in {"Cc", "Cf", "Co"}:
        return ""
    return " " if char.isspace() else char


@lru_cache(maxsize=4096)
def _stands_alone(char: str) -> bool:
    code = ord(char)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(char)[0] == "P" or any(low <= code <= high for low, high in CJK)
