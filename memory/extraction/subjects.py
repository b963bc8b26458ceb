"""Who or what a fact is about: the speaker, somebody in their life, a named person, a thing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.extraction.grammar import english_verbs, english_words, spanish_verbs, spanish_words
from memory.extraction.grammar.kinship import kin
from memory.extraction.grammar.relatives import (
    ARTICLES,
    NOT_NAMES,
    Subject,
    bare,
    bare_written,
    is_grammatical,
    mentioned,
    name_told,
    relative_first,
    relative_inside,
)
from memory.extraction.grammar.sentences import Sentence
from memory.text.normalise import fold

__all__ = ["LORE", "Subject", "subject_of"]

LORE = "__lore__"
MAX_THING_WORDS = 5
_TITLES = frozenset(
    "la el doña don señora señor mr mrs ms dr aunt auntie uncle tía tío seño miss".split()
)
_PRONOUNS = {"he": "m", "he's": "m", "hes": "m", "she": "f", "she's": "f", "shes": "f", "él": "m",
             "ella": "f"}  # fmt: skip
_THE = ARTICLES - frozenset("a an un una those these".split())
_PLACES = ("on", "in", "from", "next", "de", "del")
_OF_OTHERS = ("people", "event", "past")
# Only people do these; of other verbs a capital at the beginning tells nothing.
_HUMAN = frozenset(
    """
    lives works studies speaks teaches loves likes hates wants prefers drinks eats married moved
    vive trabaja estudia habla enseña quiere prefiere come bebe odia
    """.split()
)


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
        is_known = word in english_words.AUXILIARIES or word in english_verbs.thirds()
        is_contracted = place > 0 and self.words[place - 1].endswith("'s")
        return is_known or is_contracted or english_verbs.is_past(word)


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
    """Who the words are about; a subject without a name or a relation is somebody unknown.

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
    asked = mentioned(clause.context[1], author=clause.author, people=clause.people)
    return _someone(clause) or (asked[0] if len(asked) == 1 else None)


def _someone(clause: _Clause) -> Subject | None:
    """ "the twins", "our new lodger"; nobody known for "his name's Kevin"."""
    if clause.words[0] in ("his", "her", "su", "sus"):
        return Subject()
    thing = _thing(clause)
    return replace(thing, is_person=True) if thing else None


def _is_of_speaker(sentence: Sentence) -> bool:
    if set(sentence.words) & (english_words.SUBJECTS | {"yo"}):
        return True
    return any(spanish_words.first_form(sentence, n) for n in range(len(sentence.words)))


def _pronoun(clause: _Clause) -> Subject | None:
    """ "She's a pilot" behind words that speak of one person only; somebody when they do not."""
    gender = _PRONOUNS.get(clause.words[0], "")
    if not gender and not _begins_with_third(clause):
        return None
    if not gender and (name := name_told(clause.sentence, 0)):
        return Subject(name=name)
    if one := _spoken_of(clause, gender):
        return one
    inside = relative_inside(clause.sentence, clause.author)
    return inside or (Subject() if clause.kind == "people" else None)


def _spoken_of(clause: _Clause, gender: str) -> Subject | None:
    """The only person that the words before speak of, and nobody else who could be meant."""
    for text in clause.context:
        spoken_of = mentioned(text, author=clause.author, people=clause.people)
        fitting = [one for one in spoken_of if not gender or one.gender in ("", gender)]
        if spoken_of:
            is_one = len(fitting) == 1 and not _others_in(text, fitting[0], gender)
            return fitting[0] if is_one else None
    return None


def _others_in(text: str, subject: Subject, gender: str) -> bool:
    """Somebody else is spoken of: the "novia" of "mi hermano tiene novia"."""
    others = [other for word in Sentence(text).words if (other := kin(bare(word)))]
    return bool(subject.relation) and any(
        other.relation != subject.relation and (not gender or other.gender in ("", gender))
        for other in others
    )


def _begins_with_third(clause: _Clause) -> bool:
    """ "se jubiló en julio": a verb about somebody who is not named."""
    skipped = spanish_words.ADVERBS | spanish_words.CLITICS
    place = next((n for n, word in enumerate(clause.words) if word not in skipped), None)
    if clause.kind not in _OF_OTHERS or place is None or place > 3:
        return False
    word, sentence = clause.words[place], clause.sentence
    if {"me", "mi", "mis", "conmigo"} & set(clause.words) or word in ("hay", "hace"):
        return False
    is_both = spanish_verbs.shifted(word, spanish_verbs.FIRST, spanish_verbs.THIRD) == word
    is_other = spanish_words.first_form(sentence, place) == "" and not is_both
    return is_other and spanish_words.is_third_here(sentence, place)


def _named(clause: _Clause) -> Subject | None:
    """ "Priya lives in Goa", "la Mariana se casó"; a name in lore is a thing unless known."""
    words, sentence = clause.words, clause.sentence
    opens = words[0] in _TITLES or (clause.language == "es" and words[0] == "a")
    start = 1 if opens and len(words) > 2 else 0
    if not sentence.is_capitalised(start) or bare(words[start]) in NOT_NAMES:
        return None
    end = start + 1
    while end < len(words) and sentence.is_capitalised(end) and not sentence.gap(end).strip():
        end += 1
    if {"me", "my", "mi", "conmigo"} & set(words) and clause.kind != "people":
        return None
    if not _verb_follows(clause, start, end):
        return None
    name = " ".join(bare_written(sentence, n) for n in range(start, end))
    is_known = fold(name) in map(fold, clause.people)
    is_human = bool(_HUMAN & set(words[end : end + 2]))
    if is_known or clause.kind in ("people", "event") or (is_human and clause.kind != "lore"):
        return Subject(name=name)
    return Subject(name=name, is_person=False) if clause.kind == "lore" else None


def _verb_follows(clause: _Clause, start: int, end: int) -> bool:
    words = clause.words
    is_title = end - start > 1  # "Tita Baby", "Auntie Bea"
    if words[start] in ARTICLES or is_grammatical(words[start]):
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
    return english_words.is_finite(words[end]) or spanish_verbs.is_third(words[end])


def _is_other_word(clause: _Clause) -> bool:
    """The capital only begins the sentence: "Trabajo de noche", "Works on Mondays"."""
    word = clause.words[0]
    if clause.language == "es":
        is_form = spanish_verbs.is_third(word) or bool(spanish_verbs.first_person(word))
        is_name = clause.words[1:2] and clause.words[1] in (
            "es", "está", "esta", "tiene", "se", "no", "va", "ya",
        )  # fmt: skip
        return is_form and not is_name
    return english_words.is_finite(bare(word)) or word.endswith("ing")


def _behind_place(clause: _Clause, place: int) -> int:
    """Behind "on the second floor" of "Dmitri on the second floor speaks"."""
    if clause.words[place : place + 1] and clause.words[place] in _PLACES:
        verb = (n for n in range(place + 2, len(clause.words)) if clause.is_verb(n))
        return next(verb, place)
    return place


def _thing(clause: _Clause) -> Subject | None:
    """ "the staging server is called falcon": the words before the verb."""
    words, sentence = clause.words, clause.sentence
    if words[0] not in _THE or len(words) < 3 or clause.is_verb(1):
        return None
    end = next((n for n in range(2, len(words)) if clause.is_verb(n)), None)
    if end is None or end - 1 > MAX_THING_WORDS:
        return None
    while end > 1 and is_grammatical(words[end - 1]):
        end -= 1
    said = [sentence.written(n) for n in range(1, end)]
    name = " ".join(said).removesuffix("'s").removesuffix("’s")
    is_own = set(words[1:end]) & (spanish_words.FIRST | english_words.FIRST)
    return Subject(name=name, is_person=False) if name and not is_own else None
