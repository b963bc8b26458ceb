"""Words of kin: which relation they name, and who is whose in a sentence of ours."""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from memory.text.normalise import LISTS, TITLES, fold, listed

_TABLE = Path(__file__).with_name("kinship.txt").read_text("utf-8")
_LINES = [line for line in _TABLE.splitlines() if line and not line.startswith("#")]
PETS = frozenset("dog cat pet horse bird rabbit hamster turtle fish".split())
# Of these somebody has one: "my mother" is the same each time.
ONLY_ONE = frozenset(
    "mother father wife husband boyfriend girlfriend partner boss dentist landlord".split()
)

_SPOUSE = ("wife", "husband", "partner", "girlfriend", "boyfriend", "fiance", "fiancee")
_PARENT, _CHILD = ("mother", "father"), ("son", "daughter", "child")
_SIBLING = ("sister", "brother", "sibling", "twin")
# What may be called so, too: a daughter may be known as one of the children.
_AS_WELL = {
    **{word: (word, "child") for word in ("son", "daughter")},
    **{word: (word, "twin", "sibling") for word in ("sister", "brother")},
    **{word: (word, *_SPOUSE) for word in _SPOUSE},
    "child": _CHILD,
    "sibling": _SIBLING,
}
# Relatives as whose relatives they are: a son-in-law is a child's husband.
_BY_STEPS = {
    "son-in-law": ((_CHILD, ("husband", "boyfriend", "partner", "fiance")),),
    "daughter-in-law": ((_CHILD, ("wife", "girlfriend", "partner", "fiancee")),),
    "brother-in-law": ((_SIBLING, ("husband", "boyfriend", "fiance")), (_SPOUSE, ("brother",))),
    "sister-in-law": ((_SIBLING, ("wife", "girlfriend", "fiancee")), (_SPOUSE, ("sister",))),
    "mother-in-law": ((_SPOUSE, ("mother",)),),
    "father-in-law": ((_SPOUSE, ("father",)),),
    "niece": ((_SIBLING, ("daughter", "child")),),
    "nephew": ((_SIBLING, ("son", "child")),),
    "granddaughter": ((_CHILD, ("daughter", "child")),),
    "grandson": ((_CHILD, ("son", "child")),),
    "grandchild": ((_CHILD, _CHILD),),
    "grandmother": ((_PARENT, ("mother",)),),
    "grandfather": ((_PARENT, ("father",)),),
    "aunt": ((_PARENT, ("sister",)),),
    "uncle": ((_PARENT, ("brother",)),),
}


def ways_to(relation: str) -> list[tuple[tuple[str, ...], ...]]:
    """Return the steps from somebody to such a relative, the nearest way first."""
    return [(_AS_WELL.get(relation, (relation,)),), *_BY_STEPS.get(relation, ())]


@dataclass(frozen=True)
class Kin:
    relation: str  # "sister", in English whatever the language of the word
    gender: str  # "f", "m", or "" when the word does not say
    is_plural: bool = False


def kin(word: str) -> Kin | None:
    """Return what a word says about somebody's place in the speaker's life."""
    low = word.lower()
    return _table().get(low) or _table().get(fold(low))


@cache
def _table() -> dict[str, Kin]:
    singular: dict[str, Kin] = {}
    for line in _LINES:
        singular = _words(line) | singular
    plurals = {_plural(word): replace(kin, is_plural=True) for word, kin in singular.items()}
    return plurals | singular


def words_of_relations() -> dict[str, list[str]]:
    """Return the words of both languages for each relation."""
    words: dict[str, list[str]] = {}
    for word, kin in _table().items():
        words.setdefault(kin.relation, []).append(word)
    return words


def _words(line: str) -> dict[str, Kin]:
    """Read "relation gender English words / Spanish words"; a word may have its own gender."""
    relation, gender, *entries = line.split()
    words: dict[str, Kin] = {}
    plurals = listed("kin", "plurals")
    for entry in entries:
        word, _, own = entry.replace("_", " ").partition(":")
        kin = Kin(relation, (own or gender).replace("-", ""), is_plural=word in plurals)
        words |= {word: kin, fold(word): kin}
    return {word: kin for word, kin in words.items() if word != "/"}


def _plural(word: str) -> str:
    if word.endswith(("ss", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "es" if word.endswith(("or", "ez")) else word + "s"


_WORD = r"[^\W\d_a-zß-öø-ÿ][\w-]*(?:['’](?!s\b)\w+)?"
_NAME = rf"(?:(?:{'|'.join(TITLES)})\. )?{_WORD}(?: {_WORD})*"
_CALLED = r"(?:is|was) (?:called|named)|se llama(?:ba)?|llamad[oa]"
# Words that open a sentence with a capital and never name anybody, also with "'s".
NOBODY = listed("kin", "nobody")
# What English writes with a capital behind "is" and says what somebody is, not who.
_NOT_CALLED = "|".join(LISTS["kin"]["not_called"].split())
# "Irene is Ana's boss": the name may stand before; the body begins behind it.
_ENGLISH = (
    rf"(?:\b(?P<before>{_NAME}) (?:is|was) )?\b(?P<body>)(?P<owner>{_NAME})['’]s "
    rf"(?:[\w-]+ ){{{{0,2}}}}?(?P<noun>{{nouns}})(?![\w-])"
    rf"(?:(?P<of_theirs>['’]s)(?! name is))?(?:['’]s name is|,? (?:{_CALLED})|,"
    rf"| (?:is|was)(?! (?:{_NOT_CALLED})\b)(?= {_NAME}(?:[.,;!]|$| and | who | from )))?"
    rf"(?: (?P<name>{_NAME}))?"
)
_SPANISH = (
    rf"(?:\b(?P<before>{_NAME}) (?:es|era) |\b(?=[EeLl](?:l|a|os|as) ))"
    rf"(?P<body>)(?:[EeLl](?:l|a|os|as) )?(?P<noun>{{nouns}})"
    rf"(?:(?: de)? [^\W\dA-Z]+)? de (?P<owner>{_NAME})(?P<of_theirs>)"
    rf"(?:(?:,| (?:{_CALLED}|(?:es|era)(?: (?:el|la) (?:doctora?|señora?|profesora?))?))?"
    rf" (?P<name>{_NAME}))?"
)
# "Pablo es mi dentista", kept as it was said: the speaker's.
_MINE = (
    rf"\b(?P<before>{_NAME}) (?:is|was|es|era) (?P<body>)(?:my|mi) (?:[\w-]+ )?(?P<noun>{{nouns}})"
    r"(?![\w-])(?P<owner>)(?P<of_theirs>)(?P<name>)"
)
# "Ana has two cats, Pixel and Nube": each of them by name; without an owner they are the speaker's.
_HAS = (
    rf"\b(?:(?P<owner>{_NAME}) (?:has|tiene)|(?:[Ww]e|I)(?: ha|['’])ve(?: got)?|[Tt]en(?:emos|go)) "
    rf"(?:[\w-]+ ){{{{0,2}}}}?(?P<noun>{{nouns}})(?![\w-])"
    rf"(?:[,:]| called| named| llamad[oa]s?|, que se llaman?)? (?P<names>{_WORD}"
    rf"(?:(?:, | and | y ){_WORD})*)"
)
# "Ana lives in Lima with their husband, Leo": whoever the sentence begins with.
_THEIRS = (
    rf"^(?!(?:[EL][la]s?|Los|The|My|Mis?|Our|Su) )(?P<owner>{_NAME}) (?=[^\W\dA-ZÀ-Ý])"
    r"(?P<between>[^.;:?!]*?)\b(?:their|his|her|su) "
    rf"(?:[^\W\dA-ZÀ-Ý]+ )?(?P<noun>{{nouns}})(?![\w-]),? (?P<name>{_NAME})"
)
# Somebody else who stands between them may be the owner; a place is not.
_SOMEBODY_ELSE = re.compile(
    rf"(?<!\bin )(?<!\bat )(?<!\bon )(?<!\bfrom )(?<!\ben )(?<!\bde )\b{_WORD}"
)


@dataclass(frozen=True)
class Relative:
    """ "Ana's sister Elena", "la hermana de Ana"; the name may be empty."""

    owner: str
    noun: str
    relation: str
    name: str = ""
    # The words without the name: "Ana's sister".
    label: str = ""


def relatives_in(text: str) -> list[Relative]:
    """Return who is whose, as a fact in the third person says it in either language."""
    relatives = []
    *by_owner, theirs, has = _patterns()
    for match in (match for pattern in by_owner for match in pattern.finditer(text)):
        noun = kin(match["noun"])
        owner, name = match["owner"], match["name"] or match["before"] or ""
        if noun and not noun.is_plural and not match["of_theirs"] and owner.lower() not in NOBODY:
            label = text[match.start("body") : max(match.end("noun"), match.end("owner"))]
            name = "" if name.lower() in NOBODY else name
            relatives.append(Relative(owner, match["noun"].lower(), noun.relation, name, label))
    inside = theirs.match(text)
    noun = kin(inside["noun"]) if inside else None
    is_certain = inside and not _SOMEBODY_ELSE.search(inside["between"])
    if inside and noun and is_certain and inside["owner"].lower() not in NOBODY:
        relatives.append(Relative(inside["owner"], inside["noun"], noun.relation, inside["name"]))
    return relatives + [
        Relative(match["owner"] or "", match["noun"], noun.relation, name)
        for match in has.finditer(text)
        if (noun := kin(match["noun"]))
        for name in re.split(r", | and | y ", match["names"])
    ]


@cache
def _patterns() -> list[re.Pattern]:
    nouns = "|".join(map(re.escape, sorted(_table(), key=len, reverse=True)))
    patterns = (_ENGLISH, _SPANISH, _MINE, _THEIRS, _HAS)
    return [re.compile(pattern.format(nouns=nouns)) for pattern in patterns]


@cache
def _spanish() -> dict[str, str]:
    """Return one Spanish word for each relation; the masculine where it may be either."""
    spanish = {}
    for before, _, after in (line.partition("/") for line in _LINES):
        words = after.split()
        masculine = next((word for word in words if word.endswith(":m")), words[0])
        spanish[before.split()[0]] = masculine.replace("_", " ").partition(":")[0]
    return spanish


def relation_word(relation: str, language: str) -> str:
    """Return the relation as a page in this language says it."""
    return _spanish().get(relation, relation) if language.startswith("es") else relation
