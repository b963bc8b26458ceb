"""Spanish verbs: which person a form is, and the same form in another person.

The forms are made from the infinitives of verbs_es.txt. A form that two verbs share with different
other persons ("creo": creer, crear) is left out: nothing certain can be said of it.
"""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from memory.extraction.grammar.sentences import read_lists
from memory.text.normalise import fold

LISTS = read_lists(Path(__file__).with_name("verbs_es.txt"))
FIRST, SECOND, THIRD, WE, THEY = range(5)
# I, you, he or she, we, they.
Forms = tuple[str, ...]

_ENDINGS = {
    "present": {"ar": "o as a amos an", "er": "o es e emos en", "ir": "o es e imos en"},
    "past": {
        "ar": "é aste ó amos aron",
        "er": "í iste ió imos ieron",
        "ir": "í iste ió imos ieron",
    },
    "imperfect": {"ar": "aba abas aba ábamos aban", "er": "ía ías ía íamos ían"},
    "subjunctive": {"ar": "e es e emos en", "er": "a as a amos an"},
}
_STRONG = "e iste o imos ieron".split()
_FUTURE = "é ás á emos án".split()
_CONDITIONAL = "ía ías ía íamos ían".split()
_CHANGES = {"ie": ("e", "ie"), "ue": ("o", "ue"), "i": ("e", "i"), "uego": ("u", "ue")}
_ACUTE = str.maketrans("aeiou", "áéíóú")


def conjugate(infinitive: str, change: str = "") -> list[Forms]:
    """Return all tenses of a verb that follows a rule: present, past, imperfect, future, …"""
    stem, ending = infinitive[:-2], infinitive[-2:]
    return [
        _present(stem, ending, change),
        _past(stem, ending, change),
        _joined([stem] * 5, _ENDINGS["imperfect"]["ar" if ending == "ar" else "er"].split()),
        _joined([infinitive] * 5, _FUTURE),
        _joined([infinitive] * 5, _CONDITIONAL),
        _subjunctive(stem, ending, change),
    ]


def _joined(stems: list[str], endings: list[str]) -> Forms:
    return tuple(stem + ending for stem, ending in zip(stems, endings, strict=True))


def _stressed(stem: str, change: str) -> str:
    """Return the stem under stress: pens -> piens, envi -> enví."""
    if change == "acute":
        return stem[:-1] + stem[-1].translate(_ACUTE)
    if not change:
        return stem
    vowel, other = _CHANGES[change]
    before, middle, after = stem.rpartition(vowel)
    return before + other + after if middle else stem


def _present(stem: str, ending: str, change: str) -> Forms:
    strong = _stressed(stem, change)
    stems = [_before_o(strong, ending), strong, strong, stem, strong]
    if re.search(r"[^qg]u$", stem) and ending == "ir":  # construir
        stems = [stem + "y"] * 3 + [stem, stem + "y"]
    return _joined(stems, _ENDINGS["present"][ending].split())


def _before_o(stem: str, ending: str) -> str:
    """Return the stem before o and a: cog- coj-, sigu- sig-, conoc- conozc-, venc- venz-."""
    if ending == "ar":
        return stem
    for pattern, other in ((r"g$", "j"), (r"gu$", "g"), (r"([aeiou])c$", r"\1zc"), (r"c$", "z")):
        if re.search(pattern, stem):
            return re.sub(pattern, other, stem)
    return stem


def _before_e(stem: str) -> str:
    """Return the stem before e: busc- busqu-, lleg- llegu-, empez- empec-."""
    last = {"c": "qu", "g": "gu", "z": "c"}.get(stem[-1:])
    return stem[:-1] + last if last else stem


def _past(stem: str, ending: str, change: str) -> Forms:
    if ending == "ar":
        return _joined([_before_e(stem), *[stem] * 4], _ENDINGS["past"]["ar"].split())
    if re.search(r"[aeo]$", stem):  # leer, caer
        return _joined([stem] * 5, "í íste yó ímos yeron".split())
    if re.search(r"[^qg]u$", stem):  # construir
        return _joined([stem] * 5, "í iste yó imos yeron".split())
    third = stem
    if change and ending == "ir":  # pidió, durmió
        vowel, other = ("o", "u") if change == "ue" else ("e", "i")
        before, _, after = stem.rpartition(vowel)
        third = before + other + after
    return _joined([stem, stem, third, stem, third], _ENDINGS["past"]["ir"].split())


def _subjunctive(stem: str, ending: str, change: str) -> Forms:
    kind = "ar" if ending == "ar" else "er"
    base = _present(stem, ending, change)[FIRST][:-1]
    base = _before_e(base) if kind == "ar" else base
    return _joined([base] * 5, _ENDINGS["subjunctive"][kind].split())


def _irregular(entry: str) -> tuple[str, list[Forms]]:
    """Read infinitive/present/past/imperfect/future stem/subjunctive; the rest is regular."""
    infinitive, *forms = entry.split("/")
    present, past, imperfect, future, subjunctive = (forms + [""] * 5)[:5]
    tenses = conjugate(fold(infinitive))
    tenses[0] = tuple(present.split(","))
    if past.endswith("-"):
        # trajeron, dijeron: no "i" behind a "j"
        stem = past[:-1]
        endings = [e.replace("ieron", "eron") if stem.endswith("j") else e for e in _STRONG]
        tenses[1] = _joined([stem] * 5, endings)
    elif past:
        tenses[1] = tuple(past.split(","))
    if imperfect:
        # "éramos" and the like are given by no rule, and not needed.
        tenses[2] = (imperfect, f"{imperfect}s", imperfect, "", f"{imperfect}n")
    if future:
        tenses[3:5] = [_joined([future] * 5, _FUTURE), _joined([future] * 5, _CONDITIONAL)]
    subjunctive = subjunctive or tenses[0][FIRST][:-1] + "a"
    tenses[5] = (subjunctive, f"{subjunctive}s", subjunctive, "", f"{subjunctive}n")
    return infinitive, tenses


@cache
def verbs() -> dict[str, list[Forms]]:
    """Return every known verb with its tenses."""
    tenses: dict[str, list[Forms]] = {}
    for name, infinitives in LISTS.items():
        kind, _, change = name.partition("_")
        if kind in ("ar", "er", "ir"):
            tenses |= {verb: conjugate(verb, change) for verb in infinitives}
    irregular = dict(map(_irregular, LISTS["irregular"]))
    for verb in LISTS["compounds"]:
        base = next(base for base in irregular if verb.endswith(base) and len(base) > 3)
        prefix = verb.removesuffix(base)
        tenses[verb] = [tuple(prefix + form for form in tense) for tense in irregular[base]]
    return tenses | irregular


@cache
def _shifts(source: int, target: int) -> dict[str, str]:
    """Return forms of one person with those of another, where there is only one such form."""
    table = defaultdict(set)
    for tenses in verbs().values():
        for tense in tenses:
            if tense[source] and tense[target]:
                table[tense[source]].add(tense[target])
    return {form: others.pop() for form, others in table.items() if len(others) == 1}


@cache
def _unaccented(source: int) -> dict[str, str]:
    """Return the folded forms that only one form of this person folds to: "naci" -> "nací"."""
    table = defaultdict(set)
    for form in _shifts(source, THIRD):
        table[fold(form)].add(form)
    return {bare: forms.pop() for bare, forms in table.items() if len(forms) == 1}


@cache
def forms_of(person: int) -> frozenset[str]:
    """Return all forms of this person, folded, of every known verb."""
    forms = {fold(tense[person]) for tenses in verbs().values() for tense in tenses}
    return frozenset(forms - {""})


def shifted(form: str, source: int, target: int) -> str:
    """Return the same tense of the same verb in another person; "" when that is not certain."""
    if form == "creo":  # "creo que"; "I create" is rare
        return verbs()["creer"][0][target]
    return _shifts(source, target).get(form.lower(), "")


@cache
def _only_first() -> frozenset[str]:
    """Return the first persons that are not also third persons: "vivo", but not "vivía"."""
    others = {tense[THIRD] for tenses in verbs().values() for tense in tenses}
    return frozenset(form for form in _shifts(FIRST, THIRD) if form not in others)


def first_person(word: str) -> str:
    """Return the form, with accents, when it is a first person and not also a third; else ""."""
    low = word.lower()
    if low in _only_first():
        return low
    # Short words are others without their accent: "se" is not "sé".
    accented = _unaccented(FIRST).get(low, "") if len(low) > 3 else ""
    return accented if accented in _only_first() and not is_third(low) else ""


def is_ambiguous(word: str) -> bool:
    """Return whether it is a first person of two verbs: "creo" of creer or crear."""
    return word in _first_forms() and word not in _shifts(FIRST, THIRD)


@cache
def _first_forms() -> frozenset[str]:
    return frozenset(tense[FIRST] for tenses in verbs().values() for tense in tenses)


def bare_past(word: str) -> str:
    """Return the past that "mude", "deje", "trabaje" stand for when an accent was left out."""
    if len(word) < 4 or not word.endswith("e"):
        return ""
    past = word.lower()[:-1] + "é"
    return past if past in _only_first() else ""


def is_third(word: str) -> bool:
    bare = fold(word)
    return bare in forms_of(THIRD) or bare in forms_of(THEY)


def is_singular_third(word: str) -> bool:
    """Return whether it is of one other person and never of oneself: "vive", not "vivía"."""
    both = shifted(word, FIRST, THIRD)
    return fold(word) in forms_of(THIRD) and not (both and fold(both) == fold(word))


def is_we(word: str) -> bool:
    return fold(word) in forms_of(WE)


def infinitives(form: str) -> frozenset[str]:
    """Return the verbs that have this form in some person and tense."""
    return _infinitives().get(fold(form), frozenset())


@cache
def _infinitives() -> dict[str, frozenset[str]]:
    table = defaultdict(set)
    for verb, tenses in verbs().items():
        for form in {fold(form) for tense in tenses for form in tense}:
            table[form].add(verb)
    return {form: frozenset(infinitives) for form, infinitives in table.items()}
