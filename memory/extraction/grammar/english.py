"""English clauses of one person retold about that person, only where the grammar is certain."""

import re
from itertools import pairwise

from memory.extraction.grammar import english_verbs as verbs
from memory.extraction.grammar.english_words import (
    CONJUNCTIONS,
    LISTS,
    MARKS,
    SHARED,
    THEY,
    WE,
    YOU,
    has_first_person,
    is_statement,
    may_precede,
    skip_adverbs,
    subject_place,
)
from memory.extraction.grammar.kinship import USED_AS_NAMES, kin
from memory.extraction.grammar.sentences import Sentence, capitalised

_THIRD = {"am": "is", "don't": "doesn't", "dont": "doesn't", "haven't": "hasn't",
          "havent": "hasn't", "wanna": "wants to", "was": "was"}  # fmt: skip
_INNER = {"i": "they", "i'm": "they are", "im": "they are", "i've": "they have", "ive": "they have",
          "i'd": "they'd", "i'll": "they'll", "my": "their", "our": "their"}  # fmt: skip
_PLURAL = {"am": "are", "was": "were", "wasn't": "weren't", "wasnt": "weren't"}
_BEFORE_BASE = frozenset(LISTS["before_base"])
_UNSURE = frozenset(LISTS["before_base_unsure"])
_MAY_SHARE = verbs.ONLY_VERBS | {"am", "don't", "dont", "haven't", "havent", "have", "do"}
# Bases that are participles as well: "I'd come" may be either.
_ALSO_DONE = frozenset({"come", "become", "run", "overcome"}) | verbs.SAME
_PAST_HINT = re.compile(
    r"\b(?:ago|yesterday|last (?:night|week|month|year|summer|winter|spring|autumn|\w+day)"
    r"|in (?:19|20)\d\d|(?:this|that) (?:morning|time)|once|when i was|already"
    r"|in (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*)\b"
)
_PRESENT_HINT = re.compile(
    r"\b(?:every|always|usually|often|sometimes|on (?:\w+days|weekends)|each|never|most|rarely"
    r"|normally|mostly|a lot|only)\b"
)


def retell(clause: str, author: str) -> str:
    """The clause about its author: "I live here" -> "Ana lives here"; "" when not certain."""
    sentence = Sentence(clause)
    words = set(sentence.words)
    if not words or MARKS.search(clause) or words & (YOU | WE - {"our"} | {"myself"}):
        return ""
    told = _retold(sentence, author)
    return "" if has_first_person(told, ignore=author) else capitalised(told)


def _retold(sentence: Sentence, author: str) -> str:
    start = subject_place(sentence.words)
    if start is None:
        return _of_others(sentence, author)
    return _of_speaker(sentence, start, author)


def _of_speaker(sentence: Sentence, start: int, author: str) -> str:
    words = sentence.words
    # "They" is going to be the speaker, so nobody else may be.
    if (THEY | {"me", "mine"}) & set(words) or not may_precede(words[: max(start, 0)]):
        return ""
    if any(_is_one_of_two(sentence, n) for n in range(2, len(words))):
        return ""
    verb = _put_main_verb(sentence, start, author)
    if verb is None or not _put_joined_verbs(sentence, verb):
        return ""
    _put_inner(sentence, verb + 1)
    return sentence.text


def _is_one_of_two(sentence: Sentence, place: int) -> bool:
    """ "Lucien and I": more than the speaker."""
    words = sentence.words
    if words[place] != "i" or words[place - 1] not in ("and", "&"):
        return False
    return sentence.is_capitalised(place - 2) or kin(words[place - 2]) is not None


def _put_main_verb(sentence: Sentence, start: int, author: str) -> int | None:
    """Put subject and verb into the third person; the verb's place, None when it is not known."""
    words = sentence.words
    if start == -1:
        sentence.put(0, f"{author} is")
        return 0
    place = skip_adverbs(words, start + 1)
    verb = words[place] if place < len(words) else ""
    if auxiliary := _contracted(words[start], verb):
        sentence.put(start, f"{author} {auxiliary}")
        return start
    third = _third(verb, " ".join(words)) if words[start] == "i" else ""
    if not third:
        return None
    sentence.put(start, author)
    sentence.put(place, third)
    return place


def _contracted(subject: str, verb: str) -> str:
    """What the end of "I'm", "I've", "I'd" stands for; "" when there is none or it is unclear."""
    bases = verbs.BASES | {"be"}
    if subject in ("i'm", "im", "i've", "ive"):
        return ("is" if "m" in subject else "has") if verb else ""
    if subject in ("i'll", "ill"):
        return "will" if verb in bases else ""
    if subject not in ("i'd", "id") or verb in _ALSO_DONE:
        return ""
    if verb in bases or verb == "rather":
        return "would"
    return "had" if verb in verbs.participles() or verb == "better" else ""


def _third(verb: str, clause: str) -> str:
    """The third person of a verb behind "I"; "" when it is unknown or its tense is."""
    if verb in _THIRD or verb in SHARED:
        return _THIRD.get(verb) or SHARED[verb]
    if verb in verbs.SAME:
        past, present = _PAST_HINT.search(clause), _PRESENT_HINT.search(clause)
        return "" if bool(past) == bool(present) else verb if past else verbs.third(verb)
    if verb in verbs.BASES:
        return verbs.third(verb)
    return verb if verbs.is_past(verb) else ""


def _put_inner(sentence: Sentence, start: int) -> None:
    """Later words of the speaker: "when I was 11" -> "when they were 11"."""
    for place in range(start, len(sentence.words)):
        word = sentence.words[place]
        if word in _INNER:
            sentence.put(place, _INNER[word])
        if word == "i":
            put_plural_verb(sentence, skip_adverbs(sentence.words, place + 1))


def put_plural_verb(sentence: Sentence, place: int) -> None:
    if place < len(sentence.words) and sentence.words[place] in _PLURAL:
        sentence.put(place, _PLURAL[sentence.words[place]])


def _put_joined_verbs(sentence: Sentence, main: int) -> bool:
    """Give verbs that share the subject its person; False when one of them may be a noun."""
    words = sentence.words
    for place in range(main + 1, len(words)):
        verb = skip_adverbs(words, place)
        if not _begins_part(sentence, place) or verb >= len(words) or words[place] == "not":
            continue
        if not (words[verb] in verbs.BASES or words[verb] in _MAY_SHARE):
            continue
        # "I hate duck, always have"
        is_last = words[verb] in ("have", "do", "am") and verb + 1 == len(words)
        if not is_last and not _may_share(words[main:place], words[verb]):
            return False
        if is_last or not _has_bare_verb(words[main:place]):
            sentence.put(verb, _third(words[verb], ""))
    return True


def _begins_part(sentence: Sentence, place: int) -> bool:
    is_joined = sentence.words[place - 1] in CONJUNCTIONS
    return is_joined or bool(re.search(r"[,;–—-]", sentence.gap(place)))


def _may_share(before: list[str], verb: str) -> bool:
    """ "… and eat fish", but not "so keep it short" or ", text instead", which may be orders."""
    is_order = before[-1] not in CONJUNCTIONS - {"so"}
    is_known = verb in _MAY_SHARE or _has_bare_verb(before)
    return is_known and not is_order and not set(before) & _UNSURE


def _has_bare_verb(words: list[str]) -> bool:
    """A verb that is not finite came before, as in "want to learn"; not so "go to bed"."""
    infinitive = any(word == "to" and after in verbs.BASES for word, after in pairwise(words))
    return infinitive or bool(set(words) & _BEFORE_BASE)


def _of_others(sentence: Sentence, author: str) -> str:
    """ "My sister lives with me" -> "Ana's sister lives with Ana"."""
    words = sentence.words
    as_name = words[0].removesuffix("'s") in USED_AS_NAMES
    if not as_name and not {"my", "me", "mine"} & set(words):
        return ""
    if "our" in words or not is_statement(sentence):
        return ""
    for place, word in enumerate(words):
        if word in ("my", "mine", "me"):
            sentence.put(place, author if word == "me" else f"{author}'s")
    if as_name:
        sentence.put(0, f"{author}'s {words[0]}")
    return sentence.text
