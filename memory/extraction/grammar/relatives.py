"""The people and pets that words speak of: "my sister Elena", "mum", "la pareja de mi padre"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.extraction.grammar import english_verbs, english_words, spanish_words
from memory.extraction.grammar.kinship import USED_AS_NAMES, kin
from memory.extraction.grammar.sentences import Sentence
from memory.extraction.grammar.spanish_nouns import article, name_end
from memory.text.normalise import fold

ARTICLES = frozenset(
    "the a an our this that these those el la los las un una nuestro nuestra ours".split()
)
NOT_NAMES = frozenset(
    """
    i monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december god ok okay yes no yeah the a he she it they
    he's she's it's they're someone somebody everyone everybody nobody there that this these those
    what who when where why how do does did is are any enero febrero lunes martes qué quién cómo ya
    y el la los las un una oye hola hi hey so and but well also even
    """.split()
)
_OWN = ("my", "mi", "mis")
_POSSESSIVES = frozenset("my your tu mi mis tus ur".split())
_BEFORE_KIN = frozenset(
    """
    little big older younger eldest youngest oldest middle late best ex new old only step great poor
    own dear first second two three four dos tres cuatro mejor propio propia
    """.split()
)
# "my twin sister": the second word says who it is.
_WITH_KIN = frozenset("twin baby kid gemela gemelo melliza mellizo".split())
_ONLY_ONE = frozenset("mother father wife husband boyfriend girlfriend partner boss".split())
_PREPOSITIONS = frozenset(
    "que como con a de para por with to of for on than from at in and y like".split()
)
_BEFORE_PLACES = frozenset("in at to from near the on en desde hacia por".split())


@dataclass(frozen=True)
class Subject:
    """Who or what a fact is about; without a name or a relation nobody knows who.

    `relation` is English in both languages ("sister"); `noun` is the word that was used. Pets
    count as persons.
    """

    name: str = ""
    relation: str = ""
    owner: str = ""
    is_person: bool = True
    noun: str = ""
    language: str = "en"

    def __str__(self) -> str:
        """The name to keep the fact under."""
        return self.name or self.label

    @property
    def label(self) -> str:
        """ "Ana's sister Elena", "la hermana de Ana, Elena"."""
        if not self.relation:
            return self.name
        if self.language == "es":
            the = article(self.noun, many=self.noun.endswith("s"))
            label = f"{the} {self.noun} de {self.owner}".strip().replace(" de el ", " del ")
            return f"{label}, {self.name}" if self.name else label
        return f"{self.owner}'s {self.noun} {self.name}".strip()

    @property
    def gender(self) -> str:
        relative = kin(self.noun)
        return relative.gender if relative else ""


def relative_first(sentence: Sentence, author: str) -> Subject | None:
    """The relative that the words begin with."""
    words = sentence.words
    if words[0] in _OWN:
        return _relative_at(sentence, 1, author)
    if words[0] == "a" and words[1:2] and words[1] in _OWN:
        return _relative_at(sentence, 2, author)
    if yours := _relative_of_listener(sentence):
        return yours
    if bare(words[0]) in USED_AS_NAMES or fold(bare(words[0])) in ("mama", "papa"):
        return _with_name(sentence, 0, author)
    if words[0].endswith("'s") and sentence.is_capitalised(0) and len(words) > 1:
        return _relative_at(sentence, 1, bare_written(sentence, 0))
    if words[0] in ("la", "el") and words[2:3] == ["de"] and len(words) > 4:
        return _relative_of(sentence, author) or _owner_of(sentence, author)
    return None


def _relative_of_listener(sentence: Sentence) -> Subject | None:
    """ "Your aunt Lupe…": whose aunt is not known here, so that only her name is."""
    start = 1 if sentence.words[0] == "a" else 0
    if sentence.words[start : start + 1] and sentence.words[start] in ("your", "tu", "tus", "ur"):
        relative = _relative_at(sentence, start + 1, "")
        return Subject(name=relative.name) if relative else None
    return None


def relative_inside(sentence: Sentence, author: str) -> Subject | None:
    """The one relative that the words name anywhere: "se casó mi hermana"."""
    found = [
        one
        for place, word in enumerate(sentence.words[:-1])
        if word in _OWN
        and (not place or sentence.words[place - 1] not in _PREPOSITIONS)
        and (one := _relative_at(sentence, place + 1, author))
    ]
    return found[0] if len(found) == 1 else None


def _relative_at(sentence: Sentence, place: int, owner: str) -> Subject | None:
    words = sentence.words
    while place < len(words) and words[place] in _BEFORE_KIN and not kin(words[place]):
        place += 1
    if place + 1 < len(words) and kin(bare(words[place + 1])) and kin(bare(words[place])):
        if words[place].endswith("'s"):  # "my son's teacher"
            return _with_name(sentence, place + 1, f"{owner}'s {bare(words[place])}")
        if words[place] not in _WITH_KIN:
            return None
        place += 1
    if [bare(word) for word in words[place + 1 : place + 3]] == ["in", "law"]:
        noun = f"{words[place]}-in-law"
        relative = kin(noun)
        return Subject(relation=relative.relation, owner=owner, noun=noun) if relative else None
    return _with_name(sentence, place, owner) if place < len(words) else None


def _with_name(sentence: Sentence, place: int, owner: str) -> Subject | None:
    noun = bare(sentence.words[place])
    relative = kin(noun)
    if not relative:
        return None
    # "ur dads name": an apostrophe left out.
    if relative.is_plural and relative.relation in _ONLY_ONE and kin(noun[:-1]):
        noun = noun[:-1]
    is_owner = sentence.words[place].endswith("'s")
    name = "" if is_owner else _name_at(sentence, place + 1) or name_told(sentence, place + 1)
    return Subject(name=name, relation=relative.relation, owner=owner, noun=noun)


def _name_at(sentence: Sentence, place: int) -> str:
    """All of the name: "Mrs Papadakis"."""
    if place >= len(sentence.words) or not sentence.is_capitalised(place):
        return ""
    if sentence.gap(place).strip(" ,"):
        return ""
    end = name_end(sentence, place + 1)
    return " ".join(bare_written(sentence, n) for n in range(place, end))


def name_told(sentence: Sentence, place: int) -> str:
    """ "Rosario" of "mi suegra se llama Rosario"; `place` is behind the noun."""
    said = sentence.words[place : place + 2]
    is_told = said in (["se", "llama"], ["is", "called"], ["is", "named"], ["name", "is"])
    named = place + 2 < len(sentence.words) and sentence.is_capitalised(place + 2)
    return sentence.written(place + 2) if is_told and named else ""


def _relative_of(sentence: Sentence, author: str) -> Subject | None:
    """ "la hermana de Bo", "la pareja de mi padre": whose she is."""
    words = sentence.words
    owner, relative = sentence.written(3), kin(words[1])
    if not relative:
        return None
    if words[3] in _OWN:
        owner = f"{article(words[4], many=False)} {words[4]} de {author}".strip()
    elif not sentence.is_capitalised(3):
        return None
    return Subject(relation=relative.relation, owner=owner, noun=words[1])


def _owner_of(sentence: Sentence, author: str) -> Subject | None:
    """ "El cumpleaños de mi hermana Elena es…": the sister."""
    verb = name_end(sentence, 5)
    if sentence.words[3] != "mi" or verb >= len(sentence.words):
        return None
    is_told = spanish_words.is_third_here(sentence, verb)
    return _relative_at(sentence, 4, author) if is_told else None


def mentioned(text: str, *, author: str, people: Sequence[str] = ()) -> list[Subject]:
    """The people a text speaks of, as far as that is certain: kin, and names."""
    sentence = Sentence(text)
    known = {fold(name): name for name in people}
    found: dict[str, Subject] = {}
    for place in range(len(sentence.words)):
        if one := _mentioned_at(sentence, place, author, known):
            found.setdefault(one.name or one.relation, one)
    return list(found.values())


def _mentioned_at(
    sentence: Sentence, place: int, author: str, known: dict[str, str]
) -> Subject | None:
    word = bare(sentence.words[place])
    if word in _POSSESSIVES and place + 1 < len(sentence.words):
        return _relative_at(sentence, place + 1, author)
    if not sentence.is_capitalised(place):
        return None
    if fold(word) in known:
        return Subject(name=known[fold(word)])
    return Subject(name=bare_written(sentence, place)) if _may_be_name(sentence, place) else None


def _may_be_name(sentence: Sentence, place: int) -> bool:
    """A capitalised word that is not a place, a day or the beginning of a sentence."""
    words = sentence.words
    word = bare(words[place])
    if word in NOT_NAMES | ARTICLES | _POSSESSIVES or is_grammatical(word) or kin(word):
        return False
    if place and not sentence.gap(place).strip(" ,"):
        return words[place - 1] not in _BEFORE_PLACES and not sentence.written(place).isupper()
    after = words[place + 1] if place + 1 < len(words) else ""
    return after in english_verbs.thirds() or after in ("was", "isn't", "doesn't", "didn't")


def is_grammatical(word: str) -> bool:
    """A pronoun or an adverb of either language, never a name."""
    return (
        word in english_words.FIRST
        or word in english_words.WE
        or word in english_words.ADVERBS
        or word in spanish_words.FIRST
        or word in spanish_words.ADVERBS
        or word in spanish_words.CLITICS
    )


def bare(word: str) -> str:
    return word.removesuffix("'s")


def bare_written(sentence: Sentence, place: int) -> str:
    return re.sub(r"['’]s$", "", sentence.written(place))
