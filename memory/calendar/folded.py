"""Text made comparable letter by letter, so that places in it can be found in the original."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

# A capital in mid sentence: a name, not a verb form, even if it ends like one ("Chiloé").
_NAME = re.compile(r"(?<=[\w,;:] )[^\W\d_a-zñ][a-záéíóúüñ]{2,}")


@dataclass(frozen=True)
class Folded:
    """Lower case without accents (`plain`) and with them (`spoken`), as long as each other.

    `places` holds for every letter the index of its letter in the original.
    """

    plain: str
    spoken: str
    places: list[int]
    original: str

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch of the plain text stands in the original."""
        last = self.places[end - 1] + 1
        while last < len(self.original) and unicodedata.combining(self.original[last]):
            last += 1
        return self.places[start], last

    @cached_property
    def without_names(self) -> str:
        """The spoken text with names blanked out, for looking at its verbs."""
        masked = list(self.spoken)
        written = "".join(self.original[place] for place in self.places)
        for hit in _NAME.finditer(written):
            masked[hit.start() : hit.end()] = "_" * (hit.end() - hit.start())
        return "".join(masked)


def fold(text: str) -> Folded:
    if text.isascii():
        return Folded(text.lower(), text.lower(), list(range(len(text))), text)
    plain, spoken, places = [], [], []
    for index, char in enumerate(text):
        if unicodedata.combining(char):
            if spoken and places[-1] == index - 1:
                spoken[-1] = _composed(spoken[-1], char)
            continue
        lower = char.lower()
        base = unicodedata.normalize("NFD", lower)[:1]
        plain.append({"’": "'", "‘": "'"}.get(base, base))
        spoken.append({"’": "'", "‘": "'"}.get(lower, lower if len(lower) == 1 else base))
        places.append(index)
    return Folded("".join(plain), "".join(spoken), places, text)


def _composed(letter: str, mark: str) -> str:
    whole = unicodedata.normalize("NFC", letter + mark)
    return whole if len(whole) == 1 else letter
