"""Words for the people and pets of a speaker, in both languages."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from memory.text.normalise import fold

PETS = frozenset("dog cat pet horse bird rabbit hamster turtle fish".split())
# Said without "my", as if they were names: "mum runs a salon".
USED_AS_NAMES = frozenset(
    "mum mom mam mummy mommy dad daddy grandma grandpa granny gran nan nana nanna grandad granddad"
    " mamá mami papá papi amá apá".split()
)


@dataclass(frozen=True)
class Kin:
    relation: str  # "sister", in English whatever the language of the word
    gender: str  # "f", "m", or "" when the word does not say
    is_plural: bool = False


def kin(word: str) -> Kin | None:
    """What a word says about somebody's place in the speaker's life."""
    low = word.lower()
    return _table().get(low) or _table().get(fold(low))


@cache
def _table() -> dict[str, Kin]:
    listed: dict[str, Kin] = {}
    for line in Path(__file__).with_name("kinship.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            listed = _words(line) | listed
    plurals = {_plural(word): replace(one, is_plural=True) for word, one in listed.items()}
    return plurals | listed


def _words(line: str) -> dict[str, Kin]:
    """relation, gender, English words / Spanish words; a word may have a gender of its own."""
    relation, gender, *listed = line.split()
    found: dict[str, Kin] = {}
    for entry in listed:
        word, _, own = entry.partition(":")
        one = Kin(relation, (own or gender).replace("-", ""), is_plural=word in _PLURALS)
        found |= {word: one, fold(word): one}
    return {word: one for word, one in found.items() if word != "/"}


_PLURALS = frozenset(
    """
    parents folks padres papás viejos siblings hermanos twins mellizos gemelos children kids nietos
    grandparents abuelos grandchildren grandkids in-laws suegros
    """.split()
)


def _plural(word: str) -> str:
    if word.endswith(("ss", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "es" if word.endswith(("or", "ez")) else word + "s"
