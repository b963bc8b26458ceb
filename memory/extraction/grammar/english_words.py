"""What the words of an English clause are: who speaks, and where its subject and verb stand."""

import re
from itertools import pairwise
from pathlib import Path

from memory.extraction.grammar import english_verbs as verbs
from memory.extraction.grammar import word_lists
from memory.extraction.grammar.kinship import USED_AS_NAMES
from memory.extraction.grammar.sentences import Sentence

LISTS = word_lists.read(Path(__file__).with_name("words_en.txt"))
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
MARKS = re.compile(r"[?\"“”«»]")
_TWO_WORDS = {("no", "longer"), ("kind", "of"), ("sort", "of")}
_DETERMINERS = frozenset("my the both all every this a an our that".split())
_PRONOUNS = frozenset(
    "he she it they he's she's it's they're hes shes its what which who there here".split()
)
_CONTRACTED = ("'s", "'re", "'ve", "'ll")


def has_first_person(text: str, *, ignore: str = "") -> bool:
    """The speaker is still in the text; `ignore` is a name that may look like a word."""
    words = Sentence(text.replace(ignore, " ") if ignore else text).words
    bases = verbs.BASES | {"be"}
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
    return word.endswith("ly") and len(word) > 4 and word not in verbs.BASES


def subject_place(words: list[str]) -> int | None:
    """The place of the first "I"; -1 for a clause that begins with "am"."""
    if words[0] == "am":
        return -1
    if words[0] in ("id", "ill") and len(words) > 1 and words[1] in verbs.BASES | {"be", "rather"}:
        return 0
    return next((n for n, word in enumerate(words) if word in SUBJECTS), None)


def may_precede(words: list[str]) -> bool:
    """Only words that can stand before the subject: "on fridays", "since 2019"."""
    return all(word in BEFORE_SUBJECT or word[0].isdigit() for word in words)


def is_finite(word: str) -> bool:
    """May be the verb of a clause; many of them are nouns as well."""
    is_known = word in AUXILIARIES or word in verbs.thirds() or word in verbs.BASES
    return is_known or verbs.is_past(word) or word.endswith((*_CONTRACTED, "'d"))


def is_sure_verb(words: list[str], place: int) -> bool:
    """A verb that tells something of the words before it, not a noun that looks like one."""
    word, before = words[place], words[place - 1]
    if before in ("who", "that", "which", "to"):
        return False
    if word == "may" and (place + 1 >= len(words) or words[place + 1] not in verbs.BASES):
        return False  # the month
    if word in AUXILIARIES or verbs.is_past(word) or word.endswith(_CONTRACTED):
        return True
    if word in verbs.BASES:
        is_plural = before.endswith("s") and before not in verbs.thirds()
        return is_plural or (words[0] == "my" and "and" in words[1:place])
    return word in verbs.thirds()


def is_complete(sentence: Sentence) -> bool:
    """Has a subject and a verb, and does not begin with the verb."""
    start = subject_place(sentence.words)
    if start is None:
        return is_statement(sentence)
    return may_precede(sentence.words[: max(start, 0)])


def is_statement(sentence: Sentence) -> bool:
    """Begins with what it is about and has a verb: "handed in my notice" does not."""
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
    if first in _DETERMINERS or first.removesuffix("'s") in USED_AS_NAMES:
        return True
    is_verb = first in verbs.BASES or verbs.is_past(first) or first in AUXILIARIES
    is_name = sentence.is_capitalised(0) and first not in ADVERBS | BEFORE_SUBJECT | _PRONOUNS
    return is_name and not is_verb and not first.endswith("ing")
