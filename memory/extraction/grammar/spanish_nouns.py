"""Spanish nouns: their gender, and where a phrase about one ends."""

import re
from pathlib import Path

from memory.extraction.grammar import word_lists
from memory.extraction.grammar.kinship import kin
from memory.extraction.grammar.sentences import Sentence
from memory.text.normalise import fold

_LISTS = word_lists.read(Path(__file__).with_name("nouns_es.txt"))
_GENDER = {fold(noun): gender for gender, nouns in _LISTS.items() for noun in nouns}
_MODIFIERS = re.compile(
    r"favorit[oa]s?|preferid[oa]s?|mayor(?:es)?|menor(?:es)?|gemel[oa]s?|melliz[oa]s?"
    r"|pequeñ[oa]s?|chic[oa]s?|nuev[oa]s?|actual(?:es)?|antigu[oa]s?|matern[oa]s?|patern[oa]s?"
    r"|polític[oa]s?|adoptiv[oa]s?|únic[oa]s?|complet[oa]s?|person(?:al|ales)|anterior(?:es)?"
    r"|segund[oa]|primer[oa]?"
)
# "mi mejor amiga", "mi ex novia", "mi propio bar": the noun comes behind.
_BEFORE_NOUN = re.compile(
    r"mejor(?:es)?|propi[oa]s?|ex|gran(?:des)?|primer[oa]?s?|segund[oa]s?|nuev[oa]s?|querid[oa]s?"
    r"|antigu[oa]s?|futur[oa]s?|últim[oa]s?|únic[oa]s?|pobre"
)


def article(noun: str, *, many: bool) -> str:
    """el, la, los or las; "" when the gender is not certain."""
    gender = gender_of(noun)
    return {"m": ("el", "los"), "f": ("la", "las")}[gender][many] if gender else ""


def gender_of(noun: str) -> str:
    if relative := kin(noun):
        return relative.gender
    bare = fold(noun)
    singular = re.sub(r"(?<=[aeiou])s$|(?<=[lnrd])es$", "", bare)
    if known := _GENDER.get(bare) or _GENDER.get(singular):
        return known
    if re.search(r"(?:cion|sion|dad|tad|tud|umbre|eza|ura|encia|ancia)$", singular):
        return "f"
    if re.search(r"(?:ista|eta|ema|oma|ata|ante|ente)$", singular):
        return ""
    if singular.endswith(("o", "aje")):
        return "m"
    return "f" if singular.endswith("a") else ""


def noun_place(sentence: Sentence, place: int) -> int | None:
    """The noun of "mejor amiga", "propio bar": behind what stands before it."""
    while place < len(sentence.words) and _BEFORE_NOUN.fullmatch(sentence.words[place]):
        place += 1
    return place if place < len(sentence.words) else None


def phrase_end(sentence: Sentence, noun: int) -> int:
    """Behind the noun and what belongs to it: "número de teléfono", "color favorito"."""
    words = sentence.words
    end = noun + 1
    while end < len(words) and not sentence.gap(end).strip():
        if _MODIFIERS.fullmatch(words[end]):
            end += 1
        elif words[end] == "de" and end + 1 < len(words) and not sentence.is_capitalised(end + 1):
            end += 2
        else:
            break
    return end


def name_end(sentence: Sentence, place: int) -> int:
    """Behind the names that follow the noun: "mi hermano Memo", "mi mujer, Encarna,"."""
    words = sentence.words
    end = place
    while end < len(words) and sentence.is_capitalised(end):
        if sentence.gap(end).strip(" " if end > place else " ,"):
            return place if end == place else end
        end += 1
    is_apart = end > place and sentence.gap(place).strip() == ","
    closes = end < len(words) and sentence.gap(end).strip() == ","
    return place if is_apart and not closes else end
