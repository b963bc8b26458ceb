"""Complete answers that need their question, and words that point at what was said before."""

import re
from dataclasses import dataclass

from memory.extraction.grammar import english, spanish_verbs, spanish_words
from memory.extraction.grammar.sentences import Sentence, capitalised, data_beside
from memory.text.normalise import detect_language, stems

_DATA = data_beside(__file__)

MAX_QUESTION = 110
_STATED = {"are": "is", "were": "was", "have": "has", "can": "can"}
_DENIED = {"do": "doesn't", "did": "didn't", "are": "isn't", "were": "wasn't", "have": "hasn't",
           "can": "can't"}  # fmt: skip


def question_in(previous: str) -> str:
    """Return the last question of the message before, ready to stand in front of its answer."""
    line = previous.strip()[-4 * MAX_QUESTION :]
    questions = re.findall(r"[^.!?¿\n]*\?", line)
    last = re.split(r"[.!\n]\s*", line)[-1].strip()
    question = last if _DATA.asks.match(last) else ""
    if questions:
        question = questions[-1].rstrip("?").strip()
    if not question or len(question) > MAX_QUESTION:
        return ""
    opening = "¿" if "¿" in line or detect_language(question) == "es" else ""
    return f"{opening}{capitalised(question)}?"


def needs_question(quote: str, language: str) -> bool:
    """Return whether the words are not a sentence of their own."""
    if (match := _DATA.answer.match(quote)) and (
        not match[3] or needs_question(match[3], language)
    ):
        return True
    sentence = Sentence(quote)
    if not sentence.words or is_cut_short(quote) or sentence.words[0] in ("because", "porque"):
        return bool(sentence.words)
    return _is_fragment_es(sentence) if language == "es" else _is_fragment_en(sentence)


def is_cut_short(quote: str) -> bool:
    """Return whether only the question says what is meant: "I did, fried it"."""
    return bool(_DATA.cut_short.match(quote))


def _first_part(sentence: Sentence) -> int:
    """Return where the part before the first comma ends."""
    places = range(1, len(sentence.words))
    ends = (n for n in places if re.search("[,;:–—]", sentence.gap(n)))
    return next(ends, len(sentence.words))


def _is_fragment_en(sentence: Sentence) -> bool:
    """Return whether the first part has no subject with a verb, or one that must be told."""
    words = sentence.words[: _first_part(sentence)]
    is_pronoun = words[0] in ("that", "this") and any(map(english.is_finite, words[1:2]))
    if words[0] in _DATA.told_before or is_pronoun:
        return True
    if _is_told_by_speaker(words) or _is_contracted(sentence.words):
        return False
    if english.is_finite(words[0]) and words[0] not in english.BASES:
        return True
    return not any(english.is_sure_verb(words, n) for n in range(1, len(words)))


def _is_told_by_speaker(words: list[str]) -> bool:
    """Return whether an "I" tells it: "on fridays I teach", not "McLaren since I was a kid"."""
    speakers = english.SUBJECTS | english.WE
    place = next((n for n, word in enumerate(words) if word in speakers), None)
    if place is None or "since" in words[:place]:
        return False
    return english.may_precede(words[:place])


def _is_contracted(words: list[str]) -> bool:
    """Return whether the 's is a verb: "rent's going up", not "Mireille's team"."""
    if not words[0].endswith("'s") or len(words) < 2:
        return False
    after = words[1]
    is_verb = after.endswith(("ing", "ed")) or after in english.participles()
    return is_verb or after in _DATA.behind_is


def _is_fragment_es(sentence: Sentence) -> bool:
    places = range(_first_part(sentence))
    has_verb = any(
        spanish_words.is_finite(sentence, n) or spanish_words.is_we(sentence.words[n])
        for n in places
    )
    return not has_verb or has_object(sentence) or spanish_words.is_of_nobody(sentence)


def has_object(sentence: Sentence) -> bool:
    """Return whether it begins with what it points at: "lo dejé en marzo", "me la dieron"."""
    words = sentence.words
    skipped = {"sí", "si", "no", "ya", "me", "se"}
    place = next((n for n, word in enumerate(words) if word not in skipped), None)
    if place is None or words[place] not in ("lo", "la", "los", "las") or place + 1 >= len(words):
        return False
    after = words[place + 1]
    is_verb = spanish_words.first_form(sentence, place + 1) or spanish_words.is_we(after)
    is_clitic = words[place] == "lo" or (place > 0 and words[place - 1] in ("me", "se"))
    return bool(is_verb) or (is_clitic and spanish_verbs.is_third(after))


def state_answer(question: str, answer: str, *, author: str, language: str) -> str:
    """State question and answer: "Do you live in Austin?", "Yes" -> "Ana lives in Austin"."""
    match = _DATA.answer.fullmatch(answer.strip())
    if not question or not match or not author or (match[2] and match[3]):
        return ""
    more = match[3].strip(" .!,")
    if more and not _DATA.since.match(more):
        return ""
    state = _stated_es if language == "es" else _stated_en
    statement = state(question.strip("¿? "), author, is_denied=bool(match[2]))
    return f"{statement}, {more}" if statement and more else statement


def _stated_en(question: str, author: str, *, is_denied: bool) -> str:
    """State a question: "Do you live in Austin" -> "Ana lives in Austin"."""
    match = _DATA.asked_you.fullmatch(question)
    if not match or _DATA.of_both & set(Sentence(match[4]).words):
        return ""
    auxiliary, adverb, word, rest = match[1].lower(), match[2], match[3], match[4]
    if auxiliary in ("do", "did") and word not in english.BASES:
        return ""
    if is_denied:
        return "" if adverb else f"{author} {_DENIED[auxiliary]} {word}{rest}"
    if auxiliary in _STATED:
        return f"{author} {_STATED[auxiliary]} {adverb}{word}{rest}"
    verb = english.third(word) if auxiliary == "do" else english.past(word)
    return f"{author} {adverb}{verb}{rest}"


def _stated_es(question: str, author: str, *, is_denied: bool) -> str:
    """State a question: "Vives en Lima" -> "Ana vive en Lima"."""
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
    """Return the words with what they point at put in, or with their question, or unresolved."""
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
    """Return whether the words say nothing without what was said before."""
    if language == "es" and (
        _DATA.liked_which.search(quote) or _DATA.likes.fullmatch(quote.strip(" .!"))
    ):
        return True
    if match := _DATA.liked_the.search(quote):
        return match[1].lower() not in _DATA.known_by_all and not match[1][0].isupper()
    return bool(POINTERS[language] & set(Sentence(quote).words)) and not stems(quote) - _LIGHT


def _thing_asked(question: str, language: str) -> str:
    """Return the one thing a question names: "sushi" of "Do you like sushi?"."""
    match = _DATA.thing_asked[language].match(question.strip("¿? "))
    return match[1] if match and not _VAGUE & set(Sentence(match[1]).words) else ""


def _put_in(quote: str, thing: str, language: str) -> str:
    """Put the thing in place of what points at it; return "" where that is not certain."""
    if language == "es":
        return _put_in_es(quote.strip(" .!"), thing)
    match = _DATA.object.search(quote)
    verb = quote[: match.start()].split()[-1].lower() if match and match.start() else ""
    is_verb = verb in english.BASES or english.is_past(verb)
    return _DATA.object.sub(thing, quote, count=1) if is_verb else ""


def _put_in_es(quote: str, thing: str) -> str:
    article = thing.split()[0].lower()
    if match := _DATA.likes.fullmatch(quote):
        agrees = match[1].lower().endswith("n") == (article in ("los", "las"))
        return f"{quote} {thing}" if agrees else ""
    match = re.match(r"(lo|la|los|las) (\w+)\b(.*)", quote, re.IGNORECASE | re.DOTALL)
    if not match or not spanish_verbs.first_person(match[2]):
        return ""
    agrees = {"lo": "el"}.get(match[1].lower(), match[1].lower()) == article
    return f"{match[2]} {thing}{match[3]}" if agrees else ""
