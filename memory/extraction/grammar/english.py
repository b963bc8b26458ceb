"""Turn English in the first person into the third, and back into the second."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

from memory.extraction.grammar.sentences import (
    USED_AS_NAMES,
    Sentence,
    capitalised,
    data_beside,
    read_lists,
)
from memory.text.kinship import kin

_DATA = data_beside(__file__)

VERBS = read_lists(Path(__file__).with_name("verbs_en.txt"))
IRREGULAR = {base: (past, done) for base, past, done in (e.split(">") for e in VERBS["irregular"])}
BASES = frozenset([*VERBS["regular"], *VERBS["doubled"], *VERBS["same"], *IRREGULAR]) - {"be"}
# Spelt alike in the present and in the past.
SAME = frozenset(VERBS["same"])
ONLY_VERBS = frozenset(VERBS["only_verbs"])
_THIRD_FORMS = {"be": "is", "have": "has", "do": "does", "go": "goes"}


def third(base: str) -> str:
    """Return the third person: prefer -> prefers, watch -> watches, study -> studies."""
    if base in _THIRD_FORMS:
        return _THIRD_FORMS[base]
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    return base[:-1] + "ies" if re.search(r"[^aeiou]y$", base) else base + "s"


def past(base: str) -> str:
    if base in IRREGULAR:
        return IRREGULAR[base][0]
    if base in SAME:
        return base
    return _regular_past(base)


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    return (base + base[-1] if base in VERBS["doubled"] else base) + "ed"


@cache
def pasts() -> frozenset[str]:
    """Return the past forms that are not spelt like the base."""
    return frozenset(map(past, BASES)) - SAME | {"was"} | frozenset(map(_regular_past, BASES))


@cache
def participles() -> frozenset[str]:
    return pasts() | {done for _, done in IRREGULAR.values()} | SAME | {"been"}


@cache
def thirds() -> dict[str, str]:
    """Return the third persons of the present with their bases."""
    return {third(base): base for base in BASES} | {"is": "be"}


def is_past(word: str) -> bool:
    """Return whether it is a past form: known, or an -ed that is not a base itself ("need")."""
    return word in pasts() or (bool(re.fullmatch(r"[a-z]{3,}ed", word)) and word not in BASES)


LISTS = read_lists(Path(__file__).with_name("words_en.txt"))
ADVERBS, BEFORE_SUBJECT, SUBJECTS, FIRST, WE, YOU, THEY, CONJUNCTIONS, AUXILIARIES = (
    frozenset(LISTS[name])
    for name in (
        "adverbs", "before_subject", "subjects", "first", "we", "you", "they", "conjunctions",
        "auxiliaries",
    )
)  # fmt: skip
# Verbs that every person shares, as they should be spelt.
SHARED = {word: word for word in LISTS["shared"]} | dict(
    pair.split(">") for pair in LISTS["shared_bare"]
)
_TWO_WORDS = {("no", "longer"), ("kind", "of"), ("sort", "of")}
_CONTRACTED = ("'s", "'re", "'ve", "'ll")


def with_speaker(own: str) -> str:
    """Return the clause with the "I" that was left out; as it is where nothing was."""
    words = own.split()
    place = skip_adverbs(Sentence(own).words[:2], 0)
    if len(words) < 2 or place >= len(words):
        return own
    first, rest = words[place].lower().replace("’", "'"), own[:1].lower() + own[1:]
    if first in _DATA.feels:
        return own if _DATA.to_you.match(" ".join(words[place:])) else f"I {rest}"
    if len(words) < 3:
        return own
    if first == "been":
        return f"I've {rest}"
    if (
        first in _DATA.did
        or first in _DATA.cannot
        or _DATA.does_there.match(" ".join(words[place:]))
    ):
        return f"I {rest}"
    return f"I'm {rest}" if first in _DATA.doing else own


def has_first_person(text: str, *, ignore: str = "") -> bool:
    """Return whether the speaker is still in the text; `ignore` is a name like a word."""
    words = Sentence(text.replace(ignore, " ") if ignore else text).words
    bases = BASES | {"be"}
    is_short = any(word in ("id", "ill") and after in bases for word, after in pairwise(words))
    is_said = any(word in FIRST | WE and not (word == "us" and "US" in text) for word in words)
    # "10 am" is an hour.
    return is_said or is_short or bool(re.search(r"(?<![\d.] )(?<!\d)\bam\b", text))


def skip_adverbs(words: list[str], place: int) -> int:
    while place < len(words):
        if tuple(words[place : place + 2]) in _TWO_WORDS:
            place += 2
        elif words[place] in ADVERBS or _is_adverb(words[place]):
            place += 1
        else:
            break
    return place


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and len(word) > 4 and word not in BASES


def subject_place(words: list[str]) -> int | None:
    """Return the place of the first "I"; -1 for a clause that begins with "am"."""
    if words[0] == "am":
        return -1
    if words[0] in ("id", "ill") and len(words) > 1 and words[1] in BASES | {"be", "rather"}:
        return 0
    return next((n for n, word in enumerate(words) if word in SUBJECTS), None)


def may_precede(words: list[str]) -> bool:
    """Return whether the words can stand before the subject: "on fridays", "since 2019"."""
    return all(word in BEFORE_SUBJECT or word[0].isdigit() for word in words)


def is_finite(word: str) -> bool:
    """Return whether it may be the verb of a clause; many are nouns as well."""
    is_known = word in AUXILIARIES or word in thirds() or word in BASES
    return is_known or is_past(word) or word.endswith((*_CONTRACTED, "'d"))


def is_sure_verb(words: list[str], place: int) -> bool:
    """Return whether it is a verb for the words before it, not a noun that looks like one."""
    word, before = words[place], words[place - 1]
    if before in ("who", "that", "which", "to"):
        return False
    if word == "may" and (place + 1 >= len(words) or words[place + 1] not in BASES):
        return False  # the month
    if word in AUXILIARIES or is_past(word) or word.endswith(_CONTRACTED):
        return True
    if word in BASES:
        is_plural = before.endswith("s") and before not in thirds()
        return is_plural or (words[0] == "my" and "and" in words[1:place])
    return word in thirds()


def is_complete(sentence: Sentence) -> bool:
    """Return whether it has a subject and a verb, and does not begin with the verb."""
    start = subject_place(sentence.words)
    if start is None:
        return is_statement(sentence)
    return may_precede(sentence.words[: max(start, 0)])


def is_statement(sentence: Sentence) -> bool:
    """Return whether it begins with what it is about: "handed in my notice" does not."""
    words = sentence.words
    if words[0] in ("me", "mine") or not _may_begin(sentence):
        return False
    commas = [n for n in range(1, len(words)) if "," in sentence.gap(n)]
    # "my gran, she rings every day", "my boss, Ida, is"; but not "Queanbeyan, don't lump me in".
    parts = 2 if words[0] == "my" else 1
    end = commas[parts - 1] + (parts - 1) if len(commas) >= parts else len(words)
    return words[0].endswith(("'s", "'re")) or any(is_sure_verb(words, n) for n in range(1, end))


def _may_begin(sentence: Sentence) -> bool:
    first = sentence.words[0]
    if first in _DATA.determiners or first.removesuffix("'s") in USED_AS_NAMES:
        return True
    is_verb = first in BASES or is_past(first) or first in AUXILIARIES
    is_name = sentence.is_capitalised(0) and first not in ADVERBS | BEFORE_SUBJECT | _DATA.pronouns
    return is_name and not is_verb and not first.endswith("ing")


_THIRD = {"am": "is", "don't": "doesn't", "dont": "doesn't", "haven't": "hasn't",
          "havent": "hasn't", "wanna": "wants to", "was": "was"}  # fmt: skip
_INNER = {"i": "they", "i'm": "they are", "im": "they are", "i've": "they have", "ive": "they have",
          "i'd": "they'd", "i'll": "they'll", "my": "their", "our": "their"}  # fmt: skip
_PLURAL = {"am": "are", "was": "were", "wasn't": "weren't", "wasnt": "weren't"}
_BEFORE_BASE = frozenset(LISTS["before_base"])
_UNSURE = frozenset(LISTS["before_base_unsure"])
_MAY_SHARE = ONLY_VERBS | {"am", "don't", "dont", "haven't", "havent", "have", "do"}
# Bases that are participles as well: "I'd come" may be either.
_ALSO_DONE = frozenset({"come", "become", "run", "overcome"}) | SAME


def retell(clause: str, author: str) -> str:
    """Tell the clause about its author: "I live here" -> "Ana lives here"; "" when not certain."""
    if both := _DATA.me_and.match(clause):
        other = both["name"] or f"their {both['kin']}"
        clause = f"{author} and {other}{clause[both.end() :]}"
        return "" if has_first_person(clause, ignore=author) else clause
    sentence = Sentence(clause)
    words = set(sentence.words)
    if not words or _DATA.marks.search(clause) or words & (YOU | WE - {"our"} | {"myself"}):
        return ""
    retold = _retell(sentence, author)
    return "" if has_first_person(retold, ignore=author) else capitalised(retold)


def _retell(sentence: Sentence, author: str) -> str:
    start = subject_place(sentence.words)
    if start is None:
        return _retell_others(sentence, author)
    return _retell_speaker(sentence, start, author)


def _retell_speaker(sentence: Sentence, start: int, author: str) -> str:
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
    """Return whether more than the speaker is meant: "Lucien and I"."""
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
    """Return what the end of "I'm", "I've", "I'd" stands for; "" when none or unclear."""
    bases = BASES | {"be"}
    if subject in ("i'm", "im", "i've", "ive"):
        return ("is" if "m" in subject else "has") if verb else ""
    if subject in ("i'll", "ill"):
        return "will" if verb in bases else ""
    if subject not in ("i'd", "id") or verb in _ALSO_DONE:
        return ""
    if verb in bases or verb == "rather":
        return "would"
    return "had" if verb in participles() or verb == "better" else ""


def _third(verb: str, clause: str) -> str:
    """Return the third person of a verb behind "I"; "" when it is unknown or its tense is."""
    if verb in _THIRD or verb in SHARED:
        return _THIRD.get(verb) or SHARED[verb]
    if verb in SAME:
        past, present = _DATA.past_hint.search(clause), _DATA.present_hint.search(clause)
        return "" if bool(past) == bool(present) else verb if past else third(verb)
    if verb in BASES:
        return third(verb)
    return verb if is_past(verb) else ""


def _put_inner(sentence: Sentence, start: int) -> None:
    """Change later words of the speaker: "when I was 11" -> "when they were 11"."""
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
        if not (words[verb] in BASES or words[verb] in _MAY_SHARE):
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
    """Return whether the verb shares the subject: "… and eat fish", not "so keep it short"."""
    is_order = before[-1] not in CONJUNCTIONS - {"so"}
    is_known = verb in _MAY_SHARE or _has_bare_verb(before)
    return is_known and not is_order and not set(before) & _UNSURE


def _has_bare_verb(words: list[str]) -> bool:
    """Return whether a bare verb came before, as in "want to learn"; not so "go to bed"."""
    infinitive = any(word == "to" and after in BASES for word, after in pairwise(words))
    return infinitive or bool(set(words) & _BEFORE_BASE)


def _retell_others(sentence: Sentence, author: str) -> str:
    """Tell of others: "My sister lives with me" -> "Ana's sister lives with Ana"."""
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


_SECOND = {"i": "you", "i'm": "you are", "im": "you are", "i've": "you have", "ive": "you have",
           "i'd": "you'd", "i'll": "you'll", "me": "you", "my": "your", "mine": "yours",
           "myself": "yourself"}  # fmt: skip
_BACK = {"they": "you", "them": "you", "their": "your", "theirs": "yours", "they're": "you're",
         "they've": "you've", "they'd": "you'd", "they'll": "you'll",
         "themselves": "yourself"}  # fmt: skip
_BACK_VERBS = {"is": "are", "isn't": "aren't", "was": "were", "wasn't": "weren't", "has": "have",
               "hasn't": "haven't", "does": "do", "doesn't": "don't"}  # fmt: skip


def address(clause: str) -> str:
    """Say first-person words back to the person: "I live here" -> "You live here"."""
    sentence = Sentence(clause)
    words = sentence.words
    if not words or (WE | YOU) & set(words) or _DATA.marks.search(clause):
        return ""
    if not is_complete(sentence) or _has_joined_was(words):
        return ""
    for place, word in enumerate(words):
        if word in _SECOND:
            sentence.put(place, _SECOND[word])
        if word == "i":
            put_plural_verb(sentence, skip_adverbs(words, place + 1))
    retold = re.sub(r"^am\b", "you are", sentence.text, flags=re.IGNORECASE)
    return "" if has_first_person(retold) else capitalised(retold)


def _has_joined_was(words: list[str]) -> bool:
    """Return whether a verb may be about whoever was named last: "… and was raised"."""
    return any(
        word in ("was", "am", "wasn't") and before in CONJUNCTIONS
        for before, word in pairwise(words)
    )


def address_retold(fact: str, name: str) -> str:
    """Return a fact about the person said to them: "Ana lives here" -> "You live here"."""
    named = rf"(?<!\w)(?i:{re.escape(name)})(?!\w)"
    if re.match(rf"{named}['’]s\s", fact):
        return _owned(fact, named)
    match = re.match(rf"((?:[\w ]+ )?){named}\s+(?=\w)", fact)
    if not match or not may_precede(match[1].lower().split()):
        return ""
    predicate = _second_verb(Sentence(fact[match.end() :]))
    you = f"{match[1]}you" if match[1] else "You"
    return re.sub(rf"{named}['’]s\b", "your", f"{you} {predicate}") if predicate else ""


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
    """Return the second person: lives -> live; "" for what is not a known verb."""
    if verb in _BACK_VERBS:
        return _BACK_VERBS[verb]
    if verb in thirds():
        return thirds()[verb]
    return verb if verb in SHARED or verb in SAME or is_past(verb) else ""


def _put_joined(sentence: Sentence, main: int) -> bool:
    """Give verbs that share the subject its person; False when one of them may be a noun."""
    words = sentence.words
    for place in range(main + 1, len(words)):
        if words[place - 1] not in CONJUNCTIONS and "," not in sentence.gap(place):
            continue
        verb = skip_adverbs(words, place)
        word = words[verb] if verb < len(words) else ""
        if word in _BACK_VERBS or thirds().get(word) in ONLY_VERBS:
            sentence.put(verb, _second(word))
        elif word in thirds():
            return False
    return True


def _owned(fact: str, named: str) -> str:
    """Tell what is theirs: "Ana's sister lives with Ana" -> "Your sister lives with you"."""
    text = re.sub(rf"{named}['’]s(?!\w)", "your", fact)
    for match in re.finditer(rf"{named}\s+([\w']+)", text):
        if match[1].lower() in thirds() or match[1].lower() in _BACK_VERBS:
            return ""
    return capitalised(re.sub(named, "you", text))
