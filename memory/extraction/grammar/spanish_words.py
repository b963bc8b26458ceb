"""Tell what the words of a Spanish clause are: verbs of the speaker, nouns and their gender."""

import re
from collections.abc import Set
from pathlib import Path

from memory.calendar.words import WEEKDAYS
from memory.extraction.grammar import spanish_verbs as verbs
from memory.extraction.grammar.sentences import Sentence, data_beside, read_lists
from memory.text.kinship import kin
from memory.text.normalise import fold

_DATA = data_beside(__file__)
ENCLITIC, MARKS = _DATA.enclitic, _DATA.marks

LISTS = {
    name: frozenset(words)
    for name, words in read_lists(Path(__file__).with_name("words_es.txt")).items()
}
ADVERBS, CLITICS, YOU, WE, MINE, FIRST = (
    LISTS[name] for name in ("adverbs", "clitics", "you", "we", "mine", "first")
)
_ALSO_OTHER = frozenset(verbs.LISTS["also_other"])
_ADJECTIVES = frozenset(verbs.LISTS["adjectives"])


# "El tano dejo", "mi vieja trabajo": a subject; "el lunes trabajo": a time.
_BEFORE_SUBJECT = frozenset("el la mi tu su un una".split())
_TIMES = {*WEEKDAYS, *"fin finde verdad vez mañana manana tarde noche día dia año ano mes".split()}


def has_first_person(text: str, *, ignore: str = "") -> bool:
    """Return whether the speaker is still in the text; `ignore` is a name like a word."""
    sentence = Sentence(text.replace(ignore, " ") if ignore else text)
    if (FIRST | WE) & set(sentence.words):
        return True
    return any(
        has_enclitic(word) or is_we(word) or first_form(sentence, place)
        for place, word in enumerate(sentence.words)
    )


def has_enclitic(word: str) -> bool:
    """Return whether the speaker stands at the end of a verb: "mudarme", "dime"."""
    if word in LISTS["ends_in_me"] or verbs.is_third(word) or verbs.bare_past(word):
        return False
    return bool(_DATA.enclitic.fullmatch(word) or (len(word) > 3 and _DATA.order.fullmatch(word)))


def is_we(word: str) -> bool:
    is_known = word.endswith("mos") and verbs.is_we(word)
    return is_known or bool(re.search("(?:ábamos|íamos|aremos|eremos|iremos|imos)$", word))


def first_form(sentence: Sentence, place: int) -> str | None:
    """Return the verb of the first person here; "" for another word, None when unclear."""
    words = sentence.words
    word, before = words[place], words[place - 1] if place else ""
    if place and (sentence.is_capitalised(place) or (before == "me" and word in _DATA.pleased)):
        return ""
    if past := verbs.bare_past(word):
        return _bare_past(sentence, place, past)
    if verbs.is_ambiguous(word):
        return "creo" if words[place : place + 2] == ["creo", "que"] else None
    form = verbs.first_person(word)
    if form and verbs.is_third(word) and (is_other := _is_of_others(words, place)) is not False:
        return "" if is_other else None
    if not form:
        return ""
    if before in LISTS["before_noun" if word in _ALSO_OTHER else "articles"]:
        return ""
    if place > 1 and words[place - 2] in LISTS["articles"] and _DATA.before_noun.fullmatch(before):
        return ""  # "el segundo tomo"
    return _ambiguous(sentence, place, form) if word in _ALSO_OTHER else form


def _is_of_others(words: list[str], place: int) -> bool | None:
    """Return whether only an accent is missing: "se separo", "el tano dejo la plomería".

    None for "se lo compro".
    """
    clitics: list[str] = []
    while place and words[place - 1] in CLITICS | {"me"}:
        place -= 1
        clitics.append(words[place])
    subject = words[max(0, place - 3) : place]
    begins = len(subject) == 2 or subject[:-2] in (["y"], ["pero"], ["que"], ["porque"])
    if clitics in ([], ["me"]) and begins and subject[-2] in _BEFORE_SUBJECT:
        return subject[-1] not in _TIMES
    if "se" not in clitics:
        return False
    return None if {"lo", "la", "los", "las"} & set(clitics) else True


def _bare_past(sentence: Sentence, place: int, past: str) -> str | None:
    """Read "me mude a Lima": a past without its accent, not a wish ("que me mude") or a noun."""
    words, before = sentence.words, sentence.words[:place]
    if words[place] in ("sobre", "entre") or {"que", "si", "cuando", "ojalá"} & set(before):
        return ""
    behind_me = before[-1:] == ["me"] and all(word in ADVERBS for word in before[:-1])
    begins = all(word in ADVERBS | {"yo"} for word in before)
    if behind_me or (begins and _DATA.past_hint.search(sentence.text.lower())):
        return past
    start = place
    while start and words[start - 1] in CLITICS:  # "y la encontre"
        start -= 1
    is_joined = start == 0 or words[start - 1] in ("y", "pero", "me", "yo")
    return None if begins or is_joined or "," in sentence.gap(start) else ""


def _ambiguous(sentence: Sentence, place: int, form: str) -> str | None:
    """Tell by the words around whether "trabajo", "uso" or "cambio" is a verb or a noun."""
    words = sentence.words
    before = words[place - 1] if place else ""
    after = words[place + 1] if place + 1 < len(words) else ""
    if words[place] == "como":
        return _eaten(sentence, place, form)
    if place and words[place] in ("junto", "bajo", "salvo"):
        return ""
    if place + 1 < len(words) and ":" in sentence.gap(place + 1):
        return None
    if not place:
        return form if _may_follow(words[0], after) else None
    if before in ("que", "cuando") and after in ("el", "la", "los", "las", "mi"):
        return None  # "desde que cambio la jefa": an accent may be left out
    if before in LISTS["before_verb"] | ADVERBS or before[0].isdigit():
        return form
    if before in ("y", "e", "o", "ni") or "," in sentence.gap(place):
        return form if after in LISTS["behind_verb"] else None
    is_predicate = bool(verbs.infinitives(before) & LISTS["with_noun"])
    is_other = is_predicate or words[place] in _ADJECTIVES or before in LISTS["before_adjective"]
    return "" if is_other else None


def _may_follow(word: str, after: str) -> bool:
    """Return whether it is a verb: "trabajo de noche", not "trabajo nuevo"."""
    if not after or after in ("se", "es", "está", "esta", "tiene", "va"):
        return False
    return word in LISTS["with_de"] if after == "de" else after not in LISTS["not_behind_verb"]


def _eaten(sentence: Sentence, place: int, form: str) -> str | None:
    """Read "como" as eating behind "no", or as the only verb of the clause."""
    before = sentence.words[place - 1] if place else ""
    after = sentence.words[place + 1] if place + 1 < len(sentence.words) else ""
    if before in ("no", "nunca", "ya", "solo", "sólo", "siempre", "casi", "yo"):
        return form
    if "," in sentence.gap(place) or before in ("y", "e"):
        return None
    if place or not after or after[0].isdigit() or after in LISTS["numbers"]:
        return ""
    others = (n for n, word in enumerate(sentence.words) if n != place and word != "como")
    return "" if any(is_finite(sentence, n) for n in others) else form


def is_finite(sentence: Sentence, place: int) -> bool:
    return bool(first_form(sentence, place)) or is_third_here(sentence, place)


def is_third_here(sentence: Sentence, place: int) -> bool:
    """Return whether it is a third person, not a noun: "casa" behind "la" is a house."""
    word = fold(sentence.words[place])
    before = sentence.words[place - 1] if place else ""
    if before in LISTS["before_noun"] | {"la", "las", "los"}:
        return False
    if place and sentence.is_capitalised(place):
        return False
    is_house = word == "casa" and before not in ("se", "me")
    return verbs.is_third(word) and word not in LISTS["not_verbs"] and not is_house


def skip_adverbs(words: list[str], place: int = 0, also: Set[str] = frozenset()) -> int:
    """Return the first place from here on that holds neither an adverb nor a clitic."""
    while place < len(words) and (words[place] in ADVERBS | CLITICS or words[place] in also):
        place += 1
    return place


def is_of_nobody(sentence: Sentence) -> bool:
    """Return whether it is about somebody who is not named: "se jubiló en julio"."""
    words = sentence.words
    start = next((n for n, word in enumerate(words) if word not in ADVERBS | CLITICS), 0)
    if sentence.is_capitalised(0) and words[1:2] in (["se"], ["es"], ["tiene"]):  # "Lucho se va"
        return False
    return start < 3 and is_third_here(sentence, start) and words[start] != "hay"


_LISTS = read_lists(Path(__file__).with_name("nouns_es.txt"))
_GENDER = {fold(noun): gender for gender, nouns in _LISTS.items() for noun in nouns}


def article(noun: str, *, many: bool) -> str:
    """Return el, la, los or las; "" when the gender is not certain."""
    gender = gender_of(noun)
    return {"m": ("el", "los"), "f": ("la", "las")}[gender][many] if gender else ""


def gender_of(noun: str) -> str:
    if relative := kin(noun):
        return relative.gender
    bare = fold(noun)
    singular = re.sub(r"(?<=[aeiou])s$|(?<=[lnrd])es$", "", bare)
    if gender := _GENDER.get(bare) or _GENDER.get(singular):
        return gender
    if re.search(r"(?:cion|sion|dad|tad|tud|umbre|eza|ura|encia|ancia)$", singular):
        return "f"
    if re.search(r"(?:ista|eta|ema|oma|ata|ante|ente)$", singular):
        return ""
    if singular.endswith(("o", "aje")):
        return "m"
    return "f" if singular.endswith("a") else ""


def noun_place(sentence: Sentence, place: int) -> int | None:
    """Return the noun of "mejor amiga", "propio bar": behind what stands before it."""
    while place < len(sentence.words) and _DATA.before_noun.fullmatch(sentence.words[place]):
        place += 1
    return place if place < len(sentence.words) else None


def phrase_end(sentence: Sentence, noun: int) -> int:
    """Return the place behind the noun and what belongs to it: "número de teléfono"."""
    words = sentence.words
    end = noun + 1
    while end < len(words) and not sentence.gap(end).strip():
        if _DATA.modifiers.fullmatch(words[end]):
            end += 1
        elif words[end] == "de" and end + 1 < len(words) and not sentence.is_capitalised(end + 1):
            end += 2
        else:
            break
    return end


def name_end(sentence: Sentence, place: int) -> int:
    """Return the place behind the names that follow: "mi hermano Memo", "mi mujer, Encarna,"."""
    words = sentence.words
    end = place
    while end < len(words) and sentence.is_capitalised(end):
        if sentence.gap(end).strip(" " if end > place else " ,"):
            return place if end == place else end
        end += 1
    is_apart = end > place and sentence.gap(place).strip() == ","
    closes = end < len(words) and sentence.gap(end).strip() == ","
    return place if is_apart and not closes else end
