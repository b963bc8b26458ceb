"""The numbers and times of day that a text names, so that "5pm" and "17:00" are the same."""

import re
from dataclasses import dataclass

from memory.text.normalise import fold

# Not "one" and "uno", which are mostly no numbers, nor "once", which is one in English.
_UNITS = """
zero cero||two dos couple par|three tres|four cuatro|five cinco|six seis|seven siete
|eight ocho|nine nueve|ten diez|eleven|twelve doce dozen docena|thirteen trece|fourteen catorce
|fifteen quince|sixteen dieciseis|seventeen diecisiete|eighteen dieciocho|nineteen diecinueve
|twenty veinte|twenty-one veintiuno|twenty-two veintidos
"""
_TENS = "thirty treinta|forty cuarenta|fifty cincuenta|sixty sesenta|seventy setenta|eighty ochenta"
NUMBER_WORDS = {word: n for n, row in enumerate(_UNITS.split("|")) for word in row.split()}
NUMBER_WORDS |= {
    word: 30 + 10 * n for n, row in enumerate(_TENS.split("|")) for word in row.split()
}
NUMBER_WORDS |= {"ninety": 90, "noventa": 90, "hundred": 100, "cien": 100}
NUMBER_WORDS |= {"thousand": 1000, "mil": 1000, "third": 3, "tercer": 3, "tercero": 3, "tercera": 3}
NUMBER_WORDS |= {"fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9}
_WORD = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_PM = r"p\.? ?m\.?|de la (?:tarde|noche)|in the (?:afternoon|evening)|at night"
_AM = r"a\.? ?m\.?|de la (?:manana|madrugada)|in the morning"
_CLOCK = re.compile(
    rf"\b(?P<hour>\d{{1,2}}|{_WORD})(?:[:h.](?P<minute>\d\d))?\s?(?:(?P<pm>{_PM})|(?P<am>{_AM}))(?!\w)"
    r"|\b(?P<hour24>\d{1,2}):(?P<minute24>\d\d)\b"
)
_NUMBER = re.compile(rf"(?<![\w.,])(\d+(?:[.,]\d+)*)(k\b)?|\b({_WORD})\b")


@dataclass(frozen=True)
class Quantities:
    """Plain numbers; times as minutes of the day, those without am and pm among the plain too."""

    numbers: frozenset[float]
    times: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.numbers or self.times)

    @property
    def is_night(self) -> bool:
        """Whether one of the times is between ten in the evening and six in the morning."""
        return any(minutes < 6 * 60 or minutes >= 22 * 60 for minutes in self.times)

    def cover(self, other: "Quantities") -> bool:
        """Whether every number and time of the other is here, in whatever notation."""
        return all(map(self._has_number, other.numbers)) and all(map(self._has_time, other.times))

    def _has_number(self, number: float) -> bool:
        hours = {minutes // 60 for minutes in self.times if minutes % 60 == 0}
        return number in self.numbers or number in hours or number + 12 in hours

    def _has_time(self, minutes: int) -> bool:
        # "At six" may be six in the evening.
        hour, rest = divmod(minutes, 60)
        return minutes in self.times or (rest == 0 and bool({hour, hour - 12} & self.numbers))


def quantities(text: str) -> Quantities:
    folded, times = fold(text), set()

    def take(found: re.Match) -> str:
        times.add(_minutes(found))
        return " "

    rest = _CLOCK.sub(take, folded)
    numbers = {_value(*found.groups()) for found in _NUMBER.finditer(rest)}
    return Quantities(frozenset(numbers), frozenset(times))


def _minutes(found: re.Match) -> int:
    if found["hour24"]:
        return int(found["hour24"]) * 60 + int(found["minute24"])
    hour = NUMBER_WORDS.get(found["hour"]) or int(found["hour"] if found["hour"].isdigit() else 0)
    hour = hour % 12 + 12 if found["pm"] else hour % 24
    return hour * 60 + int(found["minute"] or 0)


def _value(digits: str | None, thousand: str | None, word: str | None) -> float:
    if word:
        return float(NUMBER_WORDS[word])
    # "1.500" and "1,500" are thousands; "2.5" is not.
    plain = re.sub(r"[.,](?=\d{3}(?!\d))", "", digits).replace(",", ".")
    head, *tail = plain.split(".")
    return float(f"{head}.{''.join(tail)}" if tail else head) * (1000 if thousand else 1)
