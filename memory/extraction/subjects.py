"""Find who or what a fact is about: the speaker, somebody in their life, a name, a thing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.extraction.grammar import english, spanish_verbs, spanish_words
from memory.extraction.grammar.sentences import NOT_NAMES, USED_AS_NAMES, Sentence, data_beside
from memory.extraction.grammar.spanish_words import article, name_end
from memory.text.kinship import ONLY_ONE, kin
from memory.text.normalise import fold

_DATA = data_beside(__file__)

_OWN = ("my", "mi", "mis", "our", "nuestro", "nuestra")
_NOUN_ENDINGS = tuple("er or ing ion ness ship s ed ly ña ño iva ica".split())
LORE = "__lore__"
MAX_THING_WORDS = 5
_PRONOUNS = dict.fromkeys("he he's hes él".split(), "m")
_PRONOUNS |= dict.fromkeys("she she's shes ella".split(), "f")
_THE = _DATA.articles - frozenset("a an un una those these".split())
_OF_OTHERS = ("people", "event", "past")
_BEHIND_NAME = frozenset("es está esta tiene se no va ya".split())
_GRAMMATICAL = (
    english.FIRST | english.WE | english.ADVERBS
    | spanish_words.FIRST | spanish_words.ADVERBS | spanish_words.CLITICS
)  # fmt: skip


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
        """Return the name to keep the fact under."""
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
    """Return the relative that the words begin with."""
    words = sentence.words
    start = 1 if words[0] == "a" else 0
    whose = words[start] if start < len(words) else ""
    if whose in _OWN:
        return _relative_at(sentence, start + 1, author)
    if whose in ("your", "tu", "tus", "ur") and (aunt := _relative_at(sentence, start + 1, "")):
        # Whose aunt "your aunt Lupe" is, is not known here.
        return Subject(name=aunt.name)
    if bare(words[0]) in USED_AS_NAMES or fold(bare(words[0])) in ("mama", "papa"):
        return _with_name(sentence, 0, author)
    if words[0].endswith("'s") and sentence.is_capitalised(0) and len(words) > 1:
        return _relative_at(sentence, 1, bare_written(sentence, 0))
    if words[0] in ("la", "el") and words[2:3] == ["de"] and len(words) > 4:
        return _relative_of(sentence, author) or _owner_of(sentence, author)
    return None


def relative_inside(sentence: Sentence, author: str) -> Subject | None:
    """Return the one relative that the words name anywhere: "se casó mi hermana"."""
    relatives = [
        relative
        for place, word in enumerate(sentence.words[:-1])
        if word in _OWN
        and (not place or sentence.words[place - 1] not in _DATA.prepositions)
        and (relative := _relative_at(sentence, place + 1, author))
    ]
    return relatives[0] if len(relatives) == 1 else None


def _relative_at(sentence: Sentence, place: int, owner: str) -> Subject | None:
    words = sentence.words
    while place < len(words) and words[place] in _DATA.before_kin and not kin(words[place]):
        place += 1
    if place + 1 < len(words) and kin(bare(words[place + 1])) and kin(bare(words[place])):
        if words[place].endswith("'s"):  # "my son's teacher"
            return _with_name(sentence, place + 1, f"{owner}'s {bare(words[place])}")
        if words[place] not in _DATA.with_kin:
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
    if relative.is_plural and relative.relation in ONLY_ONE and kin(noun[:-1]):
        noun = noun[:-1]
    name, behind = "", place + 1
    if not sentence.words[place].endswith("'s"):
        name = _name_at(sentence, behind) or name_told(sentence, behind)
        name = name or small_name(sentence, behind)
    return Subject(name=name, relation=relative.relation, owner=owner, noun=noun)


def _name_at(sentence: Sentence, place: int) -> str:
    """Return all of the name: "Mrs Papadakis"."""
    if place >= len(sentence.words) or not sentence.is_capitalised(place):
        return ""
    if sentence.gap(place).strip(" ,"):
        return ""
    end = name_end(sentence, place + 1)
    return " ".join(bare_written(sentence, n) for n in range(place, end))


def small_name(sentence: Sentence, place: int) -> str:
    """Return a name without its capital, where only one can stand: "my mate dave lives here"."""
    words = sentence.words
    if place + 1 >= len(words) or sentence.text != sentence.text.lower():
        return ""
    word, verb = words[place], words[place + 1]
    is_word = (
        is_grammatical(word)
        or word in NOT_NAMES | _DATA.articles | english.BASES | _DATA.before_kin | _DATA.beside_kin
        or (word.endswith(_NOUN_ENDINGS) and word not in _DATA.names_like_nouns)
        or english.is_finite(word)
        or spanish_verbs.is_third(word)
        or bool(kin(word))
        or not word.isalpha()
    )
    has_verb = english.is_finite(verb) or spanish_verbs.is_third(verb)
    return "" if is_word or not has_verb else word.capitalize()


def name_told(sentence: Sentence, place: int) -> str:
    """Return "Rosario" of "mi suegra se llama Rosario"; `place` is behind the noun."""
    words = sentence.words[place : place + 2]
    is_told = words in (["se", "llama"], ["is", "called"], ["is", "named"], ["name", "is"])
    named = place + 2 < len(sentence.words) and sentence.is_capitalised(place + 2)
    return sentence.written(place + 2) if is_told and named else ""


def _relative_of(sentence: Sentence, author: str) -> Subject | None:
    """Return who is somebody's: "la hermana de Bo", "la pareja de mi padre"."""
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
    """Return the sister of "El cumpleaños de mi hermana Elena es…"."""
    verb = name_end(sentence, 5)
    if sentence.words[3] != "mi" or verb >= len(sentence.words):
        return None
    is_told = spanish_words.is_third_here(sentence, verb)
    return _relative_at(sentence, 4, author) if is_told else None


def people_in(text: str, *, author: str, people: Sequence[str] = ()) -> list[Subject]:
    """Return the people a text speaks of, as far as that is certain: kin, and names."""
    sentence = Sentence(text)
    names = {fold(name): name for name in people}
    subjects: dict[str, Subject] = {}
    for place in range(len(sentence.words)):
        if subject := _mentioned_at(sentence, place, author, names):
            subjects.setdefault(subject.name or subject.relation, subject)
    return list(subjects.values())


def _mentioned_at(
    sentence: Sentence, place: int, author: str, names: dict[str, str]
) -> Subject | None:
    word = bare(sentence.words[place])
    if word in _DATA.possessives and place + 1 < len(sentence.words):
        return _relative_at(sentence, place + 1, author)
    if fold(word) in names:
        return Subject(name=names[fold(word)])
    if not sentence.is_capitalised(place):
        return None
    return Subject(name=bare_written(sentence, place)) if _may_be_name(sentence, place) else None


def _may_be_name(sentence: Sentence, place: int) -> bool:
    """Return whether a capitalised word is not a place, a day or the beginning of a sentence."""
    words = sentence.words
    word = bare(words[place])
    if word in NOT_NAMES | _DATA.articles | _DATA.possessives or is_grammatical(word) or kin(word):
        return False
    if place and not sentence.gap(place).strip(" ,"):
        return words[place - 1] not in _DATA.before_places and not sentence.written(place).isupper()
    after = words[place + 1] if place + 1 < len(words) else ""
    return after in english.thirds() or after in ("was", "isn't", "doesn't", "didn't")


def is_grammatical(word: str) -> bool:
    """Return whether it is a pronoun or an adverb of either language, never a name."""
    return word in _GRAMMATICAL


def bare(word: str) -> str:
    return word.removesuffix("'s")


def bare_written(sentence: Sentence, place: int) -> str:
    return re.sub(r"['’]s$", "", sentence.written(place))


@dataclass(frozen=True)
class _Clause:
    sentence: Sentence
    author: str
    kind: str
    language: str
    # What was said before, nearest first.
    context: tuple[str, str]
    people: Sequence[str]

    @property
    def words(self) -> list[str]:
        return self.sentence.words

    def is_verb(self, place: int) -> bool:
        if self.language == "es":
            return spanish_words.is_third_here(self.sentence, place)
        word = self.words[place]
        is_known = word in english.AUXILIARIES or word in english.thirds()
        is_contracted = place > 0 and self.words[place - 1].endswith("'s")
        return is_known or is_contracted or english.is_past(word)


def subject_of(
    quote: str,
    *,
    author: str,
    kind: str,
    language: str,
    previous: str = "",
    before: str = "",
    people: Sequence[str] = (),
) -> Subject:
    """Return who the words are about; without a name or a relation it is somebody unknown.

    For "she" and "he", `previous` is the message before the words and `before` what their own
    message says before them; `people` are names that are known.
    """
    clause = _Clause(Sentence(quote), author, kind, language, (before, previous), people)
    speaker = Subject(name=author)
    if not clause.words:
        return speaker
    first = relative_first(clause.sentence, author) or _pronoun(clause) or _named(clause)
    subject = first or _other(clause) or speaker
    return replace(subject, language=language)


def _other(clause: _Clause) -> Subject | None:
    if clause.kind == "lore":
        return _thing(clause) or Subject(name=LORE, is_person=False)
    if clause.kind not in _OF_OTHERS or _is_of_speaker(clause.sentence):
        return None
    if relative := relative_inside(clause.sentence, clause.author):
        return relative
    if clause.kind != "people":
        return None
    people = people_in(clause.context[1], author=clause.author, people=clause.people)
    return _someone(clause) or (people[0] if len(people) == 1 else None)


def _someone(clause: _Clause) -> Subject | None:
    """Return "the twins", "our new lodger"; nobody known for "his name's Kevin"."""
    if clause.words[0] in ("his", "her", "su", "sus"):
        return Subject()
    thing = _thing(clause)
    return replace(thing, is_person=True) if thing else None


def _is_of_speaker(sentence: Sentence) -> bool:
    if set(sentence.words) & (english.SUBJECTS | {"yo"}):
        return True
    return any(spanish_words.first_form(sentence, n) for n in range(len(sentence.words)))


def _pronoun(clause: _Clause) -> Subject | None:
    """Return the one person the words before "She's a pilot" speak of, else somebody unknown."""
    gender = _PRONOUNS.get(clause.words[0], "")
    if not gender and not _begins_with_third(clause):
        return None
    if not gender and (name := name_told(clause.sentence, 0)):
        return Subject(name=name)
    if person := _spoken_of(clause, gender):
        return person
    inside = relative_inside(clause.sentence, clause.author)
    return inside or (Subject() if clause.kind == "people" else None)


def _spoken_of(clause: _Clause, gender: str) -> Subject | None:
    """Return the only person that the words before speak of, and nobody else who could be meant."""
    for text in clause.context:
        if people := people_in(text, author=clause.author, people=clause.people):
            fitting = [one for one in people if not gender or one.gender in ("", gender)]
            is_sure = len(fitting) == 1 and not _others_in(text, fitting[0], gender)
            return fitting[0] if is_sure else None
    return None


def _others_in(text: str, subject: Subject, gender: str) -> bool:
    """Return whether somebody else is spoken of: the "novia" of "mi hermano tiene novia"."""
    others = [other for word in Sentence(text).words if (other := kin(bare(word)))]
    return bool(subject.relation) and any(
        other.relation != subject.relation and (not gender or other.gender in ("", gender))
        for other in others
    )


def _begins_with_third(clause: _Clause) -> bool:
    """Return whether a verb is about somebody who is not named: "se jubiló en julio"."""
    place = spanish_words.skip_adverbs(clause.words)
    if clause.kind not in _OF_OTHERS or place > 3 or place == len(clause.words):
        return False
    word, sentence = clause.words[place], clause.sentence
    if {"me", "mi", "mis", "conmigo"} & set(clause.words) or word in ("hay", "hace"):
        return False
    is_both = spanish_verbs.shifted(word, spanish_verbs.FIRST, spanish_verbs.THIRD) == word
    is_other = spanish_words.first_form(sentence, place) == "" and not is_both
    return is_other and spanish_words.is_third_here(sentence, place)


def _named(clause: _Clause) -> Subject | None:
    """Return Priya of "Priya lives in Goa"; a name in lore is a thing unless known."""
    words, sentence = clause.words, clause.sentence
    opens = words[0] in _DATA.titles or (clause.language == "es" and words[0] == "a")
    start = 1 if opens and len(words) > 2 else 0
    names = {fold(name): name for name in clause.people}
    is_written = sentence.is_capitalised(start) or fold(bare(words[start])) in names
    if not is_written or bare(words[start]) in NOT_NAMES:
        return None
    end = start + 1
    while end < len(words) and sentence.is_capitalised(end) and not sentence.gap(end).strip():
        end += 1
    if {"me", "my", "mi", "conmigo"} & set(words) and clause.kind != "people":
        return None
    if not _verb_follows(clause, start, end):
        return None
    name = " ".join(bare_written(sentence, n) for n in range(start, end))
    is_known = fold(name) in names
    name = names.get(fold(name), name)
    is_human = bool(_DATA.human & set(words[end : end + 2]))
    if is_known or clause.kind in _OF_OTHERS or (is_human and clause.kind != "lore"):
        return Subject(name=name)
    return Subject(name=name, is_person=False) if clause.kind == "lore" else None


def _verb_follows(clause: _Clause, start: int, end: int) -> bool:
    words = clause.words
    is_title = end - start > 1  # "Tita Baby", "Auntie Bea"
    if words[start] in _DATA.articles or is_grammatical(words[start]):
        return False
    if kin(words[start]) and not is_title:
        return False
    if end == 1 and _is_other_word(clause):
        return False
    if words[end - 1].endswith("'s"):
        return end < len(words)
    if words[0] == "a":  # "a Canela el veterinario le prohibió"
        return bool({"le", "lo", "la"} & set(words[end:]))
    end = _behind_place(clause, end)
    while end < len(words) and is_grammatical(words[end]):
        end += 1
    if end >= len(words):
        return False
    return english.is_finite(words[end]) or spanish_verbs.is_third(words[end])


def _is_other_word(clause: _Clause) -> bool:
    """Return whether the capital only begins the sentence: "Trabajo de noche"."""
    word = clause.words[0]
    if clause.language == "es":
        is_form = spanish_verbs.is_third(word) or bool(spanish_verbs.first_person(word))
        return is_form and not set(clause.words[1:2]) & _BEHIND_NAME
    return english.is_finite(bare(word)) or word.endswith("ing")


def _behind_place(clause: _Clause, place: int) -> int:
    """Return the place behind "on the second floor" of "Dmitri on the second floor speaks"."""
    if not {"on", "in", "from", "next", "de", "del"} & set(clause.words[place : place + 1]):
        return place
    return next((n for n in range(place + 2, len(clause.words)) if clause.is_verb(n)), place)


def _thing(clause: _Clause) -> Subject | None:
    """Return the words before the verb: "the staging server is called falcon"."""
    words, sentence = clause.words, clause.sentence
    if words[0] not in _THE or len(words) < 3 or clause.is_verb(1):
        return None
    end = next((n for n in range(2, len(words)) if clause.is_verb(n)), None)
    if end is None or end - 1 > MAX_THING_WORDS:
        return None
    while end > 1 and is_grammatical(words[end - 1]):
        end -= 1
    name = " ".join(sentence.written(n) for n in range(1, end))
    name = name.removesuffix("'s").removesuffix("’s")
    is_own = set(words[1:end]) & (spanish_words.FIRST | english.FIRST)
    return Subject(name=name, is_person=False) if name and not is_own else None
