"""Answers that need their question, and words that only point at what was said before."""

import re
from dataclasses import dataclass

from memory.extraction.grammar import english, spanish_verbs, spanish_words
from memory.extraction.grammar.sentences import Sentence, capitalised
from memory.text.normalise import detect_language, stems

MAX_QUESTION = 110
_YES = r"yes|yeah|yep|yup|sure|correct|exactly|indeed|sí+|si+|claro|sip|ajá|correcto|exacto"
_NO = r"no|nope|nah|not really|never|nunca|para nada"
_ANSWER = re.compile(rf"(?:({_YES})|({_NO}))\b[\s,.!–—-]*(.*)", re.IGNORECASE | re.DOTALL)
_SINCE = re.compile(
    r"(?:since|for|from|until|till|with|every|desde|hasta|hace|con)\b", re.IGNORECASE
)
_ASKS = re.compile(
    r"""\W*(?:(?:and|so|but|wait|hey|oh|ok|cool|nice|lol|bro|dude|haha|y|oye|pero|entonces|che)\W+)*
    (?:who|whos|who's|what|whats|what's|when|whens|when's|where|wheres|where's|which|why|how|hows
    |how's|whose|do|does|did|are|is|was|were|have|has|can|could|will|would|any|u|wyd|you|ur|your
    |qué|que|cuál|cual|cuáles|cómo|como|dónde|donde|cuándo|cuando|cuánto|cuanto|cuántos|cuantos
    |cuántas|cuantas|quién|quien|por\ qué|xq|por|de\ qué|a\ qué|tienes|tenés|eres|sos|vives|vivís|tu
    |tú|vos|te|hay|con|ya|sigues|alguna?|algún)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CUT_SHORT = re.compile(
    r"i (?:did|do|have|can|will|was|am|could never|don't|didn't|haven't)(?:\W*$|,)", re.IGNORECASE
)
_TOLD_BEFORE = frozenset("he she it they he's she's it's they're its hes shes that's thats".split())
_BEHIND_IS = frozenset(
    "a an the not in on at from with got been had only still now always due".split()
)
_ASKED_YOU = re.compile(
    r"(do|did|are|were|have|can) you ((?:still |also |really )?)([\w'-]+)(.*)", re.IGNORECASE
)
_STATED = {"are": "is", "were": "was", "have": "has", "can": "can"}
_DENIED = {"do": "doesn't", "did": "didn't", "are": "isn't", "were": "wasn't", "have": "hasn't",
           "can": "can't"}  # fmt: skip
_OF_BOTH = frozenset("you your me my i or ever yet".split())


def question_in(previous: str) -> str:
    """The last question of the message before, ready to stand in front of its answer."""
    line = previous.strip()[-4 * MAX_QUESTION :]
    asked = re.findall(r"[^.!?¿\n]*\?", line)
    last = re.split(r"[.!\n]\s*", line)[-1].strip()
    question = asked[-1].rstrip("?").strip() if asked else last if _ASKS.match(last) else ""
    if not question or len(question) > MAX_QUESTION:
        return ""
    opening = "¿" if "¿" in line or detect_language(question) == "es" else ""
    return f"{opening}{capitalised(question)}?"


def needs_question(quote: str, language: str) -> bool:
    """The words are not a sentence of their own."""
    if (match := _ANSWER.match(quote)) and (not match[3] or needs_question(match[3], language)):
        return True
    sentence = Sentence(quote)
    if not sentence.words or is_cut_short(quote) or sentence.words[0] in ("because", "porque"):
        return bool(sentence.words)
    return _is_fragment_es(sentence) if language == "es" else _is_fragment_en(sentence)


def is_cut_short(quote: str) -> bool:
    """ "I did, fried it": only the question says what."""
    return bool(_CUT_SHORT.match(quote))


def _first_part(sentence: Sentence) -> int:
    """Where the part before the first comma ends."""
    places = range(1, len(sentence.words))
    ends = (n for n in places if re.search("[,;:–—]", sentence.gap(n)))
    return next(ends, len(sentence.words))


def _is_fragment_en(sentence: Sentence) -> bool:
    """Its first part has no subject in front of a verb, or one that has to be told."""
    words = sentence.words[: _first_part(sentence)]
    is_pronoun = words[0] in ("that", "this") and any(map(english.is_finite, words[1:2]))
    if words[0] in _TOLD_BEFORE or is_pronoun:
        return True
    if _is_told_by_speaker(words) or _is_contracted(sentence.words):
        return False
    if english.is_finite(words[0]) and words[0] not in english.BASES:
        return True
    return not any(english.is_sure_verb(words, n) for n in range(1, len(words)))


def _is_told_by_speaker(words: list[str]) -> bool:
    """ "on fridays I teach", but not "McLaren since I was a kid"."""
    speakers = english.SUBJECTS | english.WE
    place = next((n for n, word in enumerate(words) if word in speakers), None)
    if place is None or "since" in words[:place]:
        return False
    return english.may_precede(words[:place])


def _is_contracted(words: list[str]) -> bool:
    """ "rent's going up", but not "Mireille's team"."""
    if not words[0].endswith("'s") or len(words) < 2:
        return False
    after = words[1]
    is_verb = after.endswith(("ing", "ed")) or after in english.participles()
    return is_verb or after in _BEHIND_IS


def _is_fragment_es(sentence: Sentence) -> bool:
    places = range(_first_part(sentence))
    has_verb = any(
        spanish_words.is_finite(sentence, n) or spanish_words.is_we(sentence.words[n])
        for n in places
    )
    return not has_verb or has_object(sentence) or spanish_words.is_of_nobody(sentence)


def has_object(sentence: Sentence) -> bool:
    """ "lo dejé en marzo", "me la dieron": begins with what it points at."""
    words = sentence.words
    skipped = {"sí", "si", "no", "ya", "me", "se"}
    place = next((n for n, word in enumerate(words) if word not in skipped), None)
    if place is None or words[place] not in ("lo", "la", "los", "las") or place + 1 >= len(words):
        return False
    after = words[place + 1]
    is_verb = spanish_words.first_form(sentence, place + 1) or spanish_words.is_we(after)
    is_clitic = words[place] == "lo" or (place > 0 and words[place - 1] in ("me", "se"))
    return bool(is_verb) or (is_clitic and spanish_verbs.is_third(after))


def answered(question: str, answer: str, *, author: str, language: str) -> str:
    """ "Do you live in Austin?", "Yes, since 2019" -> "Ana lives in Austin, since 2019"."""
    match = _ANSWER.fullmatch(answer.strip())
    if not question or not match or not author or (match[2] and match[3]):
        return ""
    more = match[3].strip(" .!,")
    if more and not _SINCE.match(more):
        return ""
    state = _stated_es if language == "es" else _stated_en
    told = state(question.strip("¿? "), author, is_denied=bool(match[2]))
    return f"{told}, {more}" if told and more else told


def _stated_en(question: str, author: str, *, is_denied: bool) -> str:
    """ "Do you live in Austin" -> "Ana lives in Austin"."""
    match = _ASKED_YOU.fullmatch(question)
    if not match or _OF_BOTH & set(Sentence(match[4]).words):
        return ""
    asked, adverb, word, rest = match[1].lower(), match[2], match[3], match[4]
    if asked in ("do", "did") and word not in english.BASES:
        return ""
    if is_denied:
        return "" if adverb else f"{author} {_DENIED[asked]} {word}{rest}"
    if asked in _STATED:
        return f"{author} {_STATED[asked]} {adverb}{word}{rest}"
    verb = english.third(word) if asked == "do" else english.past(word)
    return f"{author} {adverb}{verb}{rest}"


def _stated_es(question: str, author: str, *, is_denied: bool) -> str:
    """ "Vives en Lima" -> "Ana vive en Lima"; "Te gusta el té" -> "A Ana le gusta el té"."""
    first, *rest = question.split()
    others = spanish_words.YOU | spanish_words.FIRST | {"o"}
    if not rest or others & set(Sentence(question).words[1:]):
        return ""
    no, more = "no " if is_denied else "", " ".join(rest)
    likes = {"gustar", "encantar", "interesar"}
    if first.lower() == "te" and spanish_verbs.infinitives(rest[0]) & likes:
        return f"A {author} {no}le {more}"
    third = spanish_verbs.shifted(first, spanish_verbs.SECOND, spanish_verbs.THIRD)
    return f"{author} {no}{third} {more}" if third else ""


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
    english.YOU | english.FIRST | spanish_words.YOU | POINTERS["en"] | {"anything", "any", "algo"}
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
    match = _THING_ASKED[language].match(question.strip("¿? "))
    return match[1] if match and not _VAGUE & set(Sentence(match[1]).words) else ""


def _put_in(quote: str, thing: str, language: str) -> str:
    """The words with the thing in place of what points at it; "" where that is not certain."""
    if language == "es":
        return _put_in_es(quote.strip(" .!"), thing)
    found = _OBJECT.search(quote)
    verb = quote[: found.start()].split()[-1].lower() if found and found.start() else ""
    is_verb = verb in english.BASES or english.is_past(verb)
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
