"""English words about a person, said to that person; "" where the grammar is not certain."""

import re
from itertools import pairwise

from memory.extraction.grammar import english_verbs as verbs
from memory.extraction.grammar.english import put_plural_verb
from memory.extraction.grammar.english_words import (
    CONJUNCTIONS,
    MARKS,
    SHARED,
    WE,
    YOU,
    has_first_person,
    is_complete,
    may_precede,
    skip_adverbs,
)
from memory.extraction.grammar.sentences import Sentence, capitalised

_SECOND = {"i": "you", "i'm": "you are", "im": "you are", "i've": "you have", "ive": "you have",
           "i'd": "you'd", "i'll": "you'll", "me": "you", "my": "your", "mine": "yours",
           "myself": "yourself"}  # fmt: skip
_BACK = {"they": "you", "them": "you", "their": "your", "theirs": "yours", "they're": "you're",
         "they've": "you've", "they'd": "you'd", "they'll": "you'll",
         "themselves": "yourself"}  # fmt: skip
_BACK_VERBS = {"is": "are", "isn't": "aren't", "was": "were", "wasn't": "weren't", "has": "have",
               "hasn't": "haven't", "does": "do", "doesn't": "don't"}  # fmt: skip


def address(clause: str) -> str:
    """First-person words said back to the person: "I live here" -> "You live here"."""
    sentence = Sentence(clause)
    words = sentence.words
    if not words or (WE | YOU) & set(words) or MARKS.search(clause):
        return ""
    if not is_complete(sentence) or _has_joined_was(words):
        return ""
    for place, word in enumerate(words):
        if word in _SECOND:
            sentence.put(place, _SECOND[word])
        if word == "i":
            put_plural_verb(sentence, skip_adverbs(words, place + 1))
    told = re.sub(r"^am\b", "you are", sentence.text, flags=re.IGNORECASE)
    return "" if has_first_person(told) else capitalised(told)


def _has_joined_was(words: list[str]) -> bool:
    """ "… and was raised": whoever was named last."""
    return any(
        word in ("was", "am", "wasn't") and before in CONJUNCTIONS
        for before, word in pairwise(words)
    )


def address_retold(fact: str, name: str) -> str:
    """A fact about the person said to them: "Ana lives here" -> "You live here"."""
    named = rf"(?<!\w)(?i:{re.escape(name)})(?!\w)"
    if re.match(rf"{named}['’]s\s", fact):
        return _owned(fact, named)
    found = re.match(rf"((?:[\w ]+ )?){named}\s+(?=\w)", fact)
    if not found or not may_precede(found[1].lower().split()):
        return ""
    told = _second_verb(Sentence(fact[found.end() :]))
    you = f"{found[1]}you" if found[1] else "You"
    return re.sub(rf"{named}['’]s\b", "your", f"{you} {told}") if told else ""


def _second_verb(sentence: Sentence) -> str:
    place = skip_adverbs(sentence.words, 0)
    verb = sentence.words[place] if place < len(sentence.words) else ""
    if not _second(verb) or not _put_joined(sentence, place):
        return ""
    sentence.put(place, _second(verb))
    for number, word in enumerate(sentence.words):
        if word in _BACK:
            sentence.put(number, _BACK[word])
    return sentence.text


def _second(verb: str) -> str:
    """lives -> live; "" for what is not a verb we know."""
    if verb in _BACK_VERBS:
        return _BACK_VERBS[verb]
    if verb in verbs.thirds():
        return verbs.thirds()[verb]
    return verb if verb in SHARED or verb in verbs.SAME or verbs.is_past(verb) else ""


def _put_joined(sentence: Sentence, main: int) -> bool:
    """Give verbs that share the subject its person; False when one of them may be a noun."""
    words = sentence.words
    for place in range(main + 1, len(words)):
        if words[place - 1] not in CONJUNCTIONS and "," not in sentence.gap(place):
            continue
        verb = skip_adverbs(words, place)
        word = words[verb] if verb < len(words) else ""
        if word in _BACK_VERBS or verbs.thirds().get(word) in verbs.ONLY_VERBS:
            sentence.put(verb, _second(word))
        elif word in verbs.thirds():
            return False
    return True


def _owned(fact: str, named: str) -> str:
    """ "Ana's sister lives with Ana" -> "Your sister lives with you"."""
    told = re.sub(rf"{named}['’]s(?!\w)", "your", fact)
    for found in re.finditer(rf"{named}\s+([\w']+)", told):
        if found[1].lower() in verbs.thirds() or found[1].lower() in _BACK_VERBS:
            return ""
    return capitalised(re.sub(named, "you", told))
