"""Words that only point at something ("I love it", "me encantan los de fruta"), and what at."""

import re
from dataclasses import dataclass

from memory.extraction.grammar import english_verbs, english_words, spanish_verbs, spanish_words
from memory.extraction.grammar.answers import has_object, needs_question, question_in
from memory.extraction.grammar.sentences import Sentence
from memory.text.normalise import stems

POINTERS = {
    "en": frozenset("it that this them those these one ones there here so him".split()),
    "es": frozenset("lo la los las eso esto ese esa esos esas ahí allí allá aquí así ello".split()),
}
# What is left of a clause that says nothing without what it points at.
_LIGHT = stems(
    """
    love loved loves like likes liked liking enjoy enjoyed hate hated adore want wanted try tried go
    went going do done make made making plan planning think get use see need prefer keep start stop
    finish definitely always again really absolutely actually gonna amazing best favourite favorite
    encanta encantan gusta gustan odio pruebo quiero hago hacer vuelvo repito repetir siempre verdad
    planeo planeando encantó gustó
    """
)
_LIKED_THE = re.compile(
    r"\b(?:lov|lik|enjoy|hat|ador)(?:e|es|ed|ing|s)?\s+(?:\w+ly\s+)?the\s+(\w+)\W*$", re.IGNORECASE
)
# "I love the sea" says what is loved; "I love the art" does not.
_KNOWN_BY_ALL = frozenset(
    """
    sea ocean beach beaches mountain mountains cold heat rain snow sun sunshine countryside city
    outdoors gym cinema theatre theater dark winter summer autumn fall spring mornings evenings
    night nights weekend weekends sky stars moon piano guitar violin drums news internet water woods
    forest wild desert wind holidays quiet silence suburbs 80s 90s 70s 60s seaside dentist
    """.split()
)
_LIKED_WHICH = re.compile(
    r"\b(?:gustan?|encantan?|prefiero|odio|quiero|fascinan?)\s+"
    r"(?:el|la|los|las|uno|una|unos|unas)\s+(?:de|que|más|mas)\b",
    re.IGNORECASE,
)
_LIKES = re.compile(
    r"(?:(?:a mí |a mi |sí,? |la verdad |siempre |ya |no |tampoco |también )*)"
    r"me (gusta|gustan|encanta|encantan|fascina|fascinan|interesa|interesan|molesta|molestan)"
    r"(?: (?:mucho|muchísimo|bastante|un montón|demasiado|tanto|nada|más))*",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"\b(?:it|that|them|those|these)\b(?=\W*$|\W+(?:so much|a lot|too|again)\b)", re.IGNORECASE
)
_THING_ASKED = {
    "en": re.compile(
        r"(?:do|did|would) you (?:still |ever |really |actually |also |even )*"
        r"(?:like|love|enjoy|hate|eat|drink|play|watch|use|have|own|want|know|read|need|do|speak"
        r"|listen to) (?:(?:the|that|your|any) )?((?:[\w'-]+ ){0,2}[\w'-]+)$",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"(?:(?:a ti )?(?:te|le) (?:gustan?|encantan?|interesan?|molestan?)|y) "
        r"((?:el|la|los|las) (?:[\w'-]+ ){0,2}[\w'-]+)$",
        re.IGNORECASE,
    ),
}
_VAGUE = (
    english_words.YOU
    | english_words.FIRST
    | spanish_words.YOU
    | POINTERS["en"]
    | {"anything", "any", "algo"}
)


@dataclass(frozen=True)
class Resolution:
    """`text` says what the words meant; empty when they point at nothing that is known."""

    text: str
    # The question is part of the text.
    has_question: bool = False


def resolve_pointing(quote: str, previous: str, language: str) -> Resolution:
    """The words with what they point at put in, or with their question, or unresolved."""
    question = question_in(previous)
    points = is_pointing(quote, language)
    leans = points or (language == "es" and has_object(Sentence(quote)))
    thing = _thing_asked(question, language) if leans else ""
    if thing and (text := _put_in(quote, thing, language)):
        return Resolution(text)
    if question and (leans or needs_question(quote, language)):
        return Resolution(f"{question} — {quote}", has_question=True)
    return Resolution("" if points else quote)


def is_pointing(quote: str, language: str) -> bool:
    """Without what was said before these words say nothing."""
    if language == "es" and (_LIKED_WHICH.search(quote) or _LIKES.fullmatch(quote.strip(" .!"))):
        return True
    if found := _LIKED_THE.search(quote):
        return found[1].lower() not in _KNOWN_BY_ALL and not found[1][0].isupper()
    return bool(POINTERS[language] & set(Sentence(quote).words)) and not stems(quote) - _LIGHT


def _thing_asked(question: str, language: str) -> str:
    """ "sushi" of "Do you like sushi?", when the question names one thing."""
    found = _THING_ASKED[language].match(question.strip("¿? "))
    return found[1] if found and not _VAGUE & set(Sentence(found[1]).words) else ""


def _put_in(quote: str, thing: str, language: str) -> str:
    """The words with the thing in place of what points at it; "" where that is not certain."""
    if language == "es":
        return _put_in_es(quote.strip(" .!"), thing)
    found = _OBJECT.search(quote)
    verb = quote[: found.start()].split()[-1].lower() if found and found.start() else ""
    is_verb = verb in english_verbs.BASES or english_verbs.is_past(verb)
    return _OBJECT.sub(thing, quote, count=1) if is_verb else ""


def _put_in_es(quote: str, thing: str) -> str:
    article = thing.split()[0].lower()
    if found := _LIKES.fullmatch(quote):
        agrees = found[1].lower().endswith("n") == (article in ("los", "las"))
        return f"{quote} {thing}" if agrees else ""
    found = re.match(r"(lo|la|los|las) (\w+)\b(.*)", quote, re.IGNORECASE | re.DOTALL)
    if not found or not spanish_verbs.first_person(found[2]):
        return ""
    agrees = {"lo": "el"}.get(found[1].lower(), found[1].lower()) == article
    return f"{found[2]} {thing}{found[3]}" if agrees else ""
