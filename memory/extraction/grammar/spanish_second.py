"""Spanish words about a person, said to that person; "" where the grammar is not certain."""

import re

from memory.extraction.grammar import spanish_verbs as verbs
from memory.extraction.grammar.sentences import Sentence, capitalised
from memory.extraction.grammar.spanish_nouns import gender_of
from memory.extraction.grammar.spanish_words import (
    ADVERBS,
    CLITICS,
    ENCLITIC,
    MARKS,
    MINE,
    WE,
    YOU,
    first_form,
    has_enclitic,
    has_first_person,
    is_third_here,
    is_we,
)

_YOURS = {"me": "te", "mi": "tu", "mis": "tus", "mí": "ti", "conmigo": "contigo", "yo": "tú"}
_ENCLITIC_SE = re.compile(r"(\w+(?:[aeiáéí]r|ndo))se(l[oa]s?)?")
_BACK = {"su": "tu", "sus": "tus", "consigo": "contigo"}


def address(clause: str) -> str:
    """First-person words said back: "vivo con mi madre" -> "Vives con tu madre"."""
    sentence = Sentence(re.sub(r"^a mi(?=,? (?:\w+ ){0,4}me )", "a mí", clause, flags=re.I))
    words = sentence.words
    if not words or (YOU | WE | MINE) & set(words) or any(map(is_we, words)):
        return ""
    if MARKS.search(clause) or not all(_addressed(sentence, n) for n in range(len(words))):
        return ""
    told = re.sub(r"\s+", " ", sentence.text).strip()
    return "" if has_first_person(told) else capitalised(told)


def _addressed(sentence: Sentence, place: int) -> bool:
    """Put the word that stands here into the second person; False when that is not certain."""
    words = sentence.words
    word = words[place]
    if word == "mi" and place and words[place - 1] in ("a", "para", "por"):
        has_noun = place + 1 < len(words) and gender_of(words[place + 1])
        sentence.put(place, "tu" if has_noun else "ti")
    elif word in _YOURS:
        sentence.put(place, _YOURS[word])
    elif (found := ENCLITIC.fullmatch(word)) and has_enclitic(word):
        sentence.put(place, f"{found[1]}te{found[2] or ''}")
    else:
        return _addressed_verb(sentence, place)
    return True


def _addressed_verb(sentence: Sentence, place: int) -> bool:
    form = first_form(sentence, place)
    if form:
        second = verbs.shifted(form, verbs.FIRST, verbs.SECOND)
        sentence.put(place, second)
        return bool(second)
    # "vivía", "era": of the speaker or of somebody else.
    word = sentence.words[place]
    of_both = verbs.shifted(word, verbs.FIRST, verbs.THIRD) == word
    return form is not None and not (of_both and is_third_here(sentence, place))


def address_retold(fact: str, name: str) -> str:
    """A fact about the person said to them: "Ana vive aquí" -> "Vives aquí"."""
    named = rf"(?<!\w)(?i:{re.escape(name)})(?!\w)"
    if found := re.fullmatch(rf"A\s+{named}\s+(.+)", fact, re.DOTALL):
        return _experienced(found[1])
    if re.search(rf"\b(?:el|la|los|las)\s+(?:\S+\s+){{1,4}}?(?:de|con)\s+{named}", fact, re.I):
        return _owned(fact, named)
    found = re.fullmatch(rf"((?:[\w ]+ )?){named}\s+(.+)", fact, re.DOTALL)
    if not found or not (told := _third(found[2])):
        return ""
    return capitalised(found[1] + told)


def _owned(fact: str, named: str) -> str:
    """ "La hermana de Ana, Elena, vive con Ana" -> "Tu hermana Elena vive contigo"."""
    phrase = r"((?:\w+ ){0,3}?\w+)"
    told = re.sub(rf"\b(?:el|la) {phrase} de {named}, ([^,]+),", r"tu \1 \2", fact, flags=re.I)
    told = re.sub(rf"\b(?:el|la) {phrase} de {named}", r"tu \1", told, flags=re.IGNORECASE)
    told = re.sub(rf"\b(?:los|las) {phrase} de {named}", r"tus \1", told, flags=re.IGNORECASE)
    told = re.sub(rf"\bcon {named}", "contigo", told)
    return "" if re.search(named, told) else capitalised(told)


def _experienced(rest: str) -> str:
    """ "no le gusta" -> "No te gusta"."""
    sentence = Sentence(rest)
    places = [n for n, word in enumerate(sentence.words) if word in ("le", "se")]
    if len(places) != 1 or _has_joined_verb(sentence, places[0] + 1):
        return ""
    sentence.put(places[0], "te")
    _put_back(sentence)
    return capitalised(sentence.text)


def _put_back(sentence: Sentence) -> None:
    for place, word in enumerate(sentence.words):
        if word in _BACK:
            sentence.put(place, _BACK[word])


def _third(rest: str) -> str:
    """The verb of a fact about the person, in the second person."""
    sentence = Sentence(rest)
    words = sentence.words
    verb = next((n for n, word in enumerate(words) if word not in ADVERBS | CLITICS), None)
    if verb is None or _has_joined_verb(sentence, verb):
        return ""
    second = verbs.shifted(words[verb], verbs.THIRD, verbs.SECOND)
    if not second:
        return ""
    sentence.put(verb, second)
    for place in range(verb):
        if words[place] == "se":
            sentence.put(place, "te")
    for place in range(verb + 1, len(words)):
        if found := _ENCLITIC_SE.fullmatch(words[place]):
            sentence.put(place, f"{found[1]}te{found[2] or ''}")
    _put_back(sentence)
    return sentence.text


def _has_joined_verb(sentence: Sentence, main: int) -> bool:
    """Another verb or pronoun that may be about the person, too."""
    words = sentence.words
    joins = ("y", "pero", "e", "ni", "o", "que")
    return any(
        words[n] in ("se", "le") or (words[n - 1] in joins and is_third_here(sentence, n))
        for n in range(main + 1, len(words))
    )
