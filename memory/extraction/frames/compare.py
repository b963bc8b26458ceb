"""Judge what a new statement does to an old one: repeat, replace, end or deny it. Pure.

The rules decide. A likeness of meaning, when the caller has one to give, only settles whether two
values are one thing in other words.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from memory.extraction.frames.clauses import plain, read_stance
from memory.extraction.frames.reading import Frame, frames_of
from memory.extraction.frames.vocabulary import (
    TOOLS,
    WHEN,
    are_all,
    are_opposite,
    canonical,
    classes,
    terms,
    tokens,
)
from memory.text.normalise import fold, jaccard, stem

Kind = Literal["same", "supersedes", "contradicts", "ends", "unrelated"]
Likeness = Callable[[str, str], float | None]
# Two values that are at least as alike as this are one thing in other words.
SAME_THING = 0.9
# How much of what two statements say must be shared before one can deny or renumber the other.
SAME_CLAIM, SAME_BUT_NUMBERS = 0.75, 0.85
# What counts when several frames meet, the strongest first.
_STRENGTH: tuple[Kind, ...] = ("supersedes", "ends", "contradicts", "same", "unrelated")
_NUMBER = re.compile(r"\d[\d.:,/-]*")
# Words that say when or how surely, not what.
_SHADES = frozenset(
    "now currently again really already longer anymore also still always very much lot".split()
)
_OPPOSED = {"hate": "like", "dislike": "like", "love": "like", "odio": "gusta", "odia": "gusta",
            "encanta": "gusta", "adora": "gusta", "enjoy": "like"}  # fmt: skip
# These are stop words to a search, but the very point of a claim.
_CARRYING = frozenset("like need use make take say go want gusta tengo tiene".split())
_AGAINST = frozenset("hate hates dislike dislikes odia odio detesta detesto".split())
_MEAT = frozenset("meat pork beef chicken".split())
_SEAFOOD = frozenset("fish seafood prawn shellfish".split())
_FORBIDDEN = {
    "vegan": _MEAT | _SEAFOOD | frozenset("cheese milk egg honey dairy".split()),
    "pescatarian": _MEAT,
    "vegetarian": _MEAT | _SEAFOOD,
}


@dataclass(frozen=True)
class Verdict:
    """What the new statement does to the old one, and why.

    `reason` is a code: value, role, count, replaced, ended, negation, taste, diet, number, words.
    """

    kind: Kind
    reason: str = ""
    # The frame of the new statement that decides, and the one of the old that it meets.
    frame: Frame | None = None
    old: Frame | None = None

    @property
    def changes(self) -> bool:
        """Whether the old statement cannot stand beside the new one."""
        return self.kind in ("supersedes", "contradicts", "ends")


UNRELATED = Verdict("unrelated")


def compare(
    old: str,
    new: str,
    *,
    subject: str = "",
    correcting: bool = False,
    same_person: bool = False,
    likeness: Likeness | None = None,
) -> Verdict:
    """Judge what `new` does to `old`. Both are about `subject`; `new` was said later.

    `same_person` says that both are of one person, whatever they are called in them ("Ana's son",
    "Mateo"). `correcting` says that the speaker openly takes something back ("no, …", "actually,
    …"): then also slots that usually hold several values ("has a dog called …") hold one.
    """
    if fold(old) == fold(new):
        return Verdict("same", "words")
    judge = _Judge(subject, correcting, likeness, same_person)
    before, after = frames_of(old, subject=subject), frames_of(new, subject=subject)
    pairs = [judge.relate(earlier, later) for earlier in before for later in after]
    verdicts = [verdict for verdict in pairs if verdict is not None]
    if not verdicts:
        return _compare_words(_claim(old), _claim(new))
    strongest = min(verdicts, key=lambda verdict: _STRENGTH.index(verdict.kind))
    return UNRELATED if strongest.kind == "unrelated" else strongest


Ruling = tuple[Kind | None, str]
_APART: Ruling = (None, "")
_BESIDE: Ruling = ("unrelated", "")
_AGAIN: Ruling = ("same", "value")
_OTHER: Ruling = ("supersedes", "value")


@dataclass(frozen=True)
class _Judge:
    subject: str
    correcting: bool
    likeness: Likeness | None
    same_person: bool = False

    def relate(self, old: Frame, new: Frame) -> Verdict | None:
        """Return the verdict on two frames; None when they are not about one thing."""
        if not self._one_holder(old, new) and _full_name(old) != _full_name(new):
            return None
        kind, reason = self._rule(old, new)
        return Verdict(kind, reason, new, old) if kind else None

    def _rule(self, old: Frame, new: Frame) -> Ruling:
        if _is_replaced(old, new):
            return "supersedes", "replaced"
        if not self._one_slot(old, new):
            return self._other_slot(old, new)
        one_value = self._one_value(old, new)
        if old.ended:
            return ("same", "ended") if new.ended and one_value else _BESIDE
        if new.ended:
            over = old.polarity == new.polarity and (one_value or not new.terms)
            return ("ends", "ended") if over else _BESIDE
        if old.polarity != new.polarity:
            everything = not (new if new.polarity < 0 else old).terms
            return ("contradicts", "negation") if one_value or everything else _BESIDE
        if new.polarity < 0:
            return _AGAIN if one_value else _BESIDE
        return self._both_so(old, new, one_value=one_value)

    def _both_so(self, old: Frame, new: Frame, *, one_value: bool) -> Ruling:
        """Judge two values of one slot, neither denied nor over."""
        if old.key == "couple":
            return _AGAIN if old.terms == new.terms else ("supersedes", "role")
        if "count" in (old.sort, new.sort):
            return _other_count(old, new)
        if old.key == "household":
            return _OTHER if (old.value == "alone") != (new.value == "alone") else _BESIDE
        if one_value:
            return _AGAIN
        if old.key == "owns:pet":
            one_noun = len(old.terms & new.terms) == 1
            other_name = one_noun and len(old.terms) == len(new.terms) > 1
            return _OTHER if self.correcting and other_name else _BESIDE
        if old.key == "prefers":
            return _other_preference(old, new, is_change=new.changed, correcting=self.correcting)
        return self._other_value(old, new)

    def _other_value(self, old: Frame, new: Frame) -> Ruling:
        is_change = new.changed or self.correcting
        one_sort = old.sort == new.sort or {old.sort, new.sort} <= WHEN
        if old.key == "home" and not one_sort:
            # A town and a country may both be home; who moved from one to the other left it.
            one_sort = is_change
        excluded = old.exclusive and new.exclusive and one_sort
        if not excluded or (not is_change and (old.weak or new.weak)):
            return _BESIDE
        return ("supersedes", "number") if new.sort == "time" else _OTHER

    def _other_slot(self, old: Frame, new: Frame) -> Ruling:
        if self.correcting and _is_renamed(old, new):
            return _OTHER
        if ":" in old.key and old.key.partition(":")[0] == new.key.partition(":")[0]:
            return _BESIDE
        return _across_slots(old, new)

    def _one_holder(self, old: Frame, new: Frame) -> bool:
        holder, other = old.holder, new.holder
        if self.same_person or holder == other:
            return True
        if holder and other and (holder <= other or other <= holder):
            return True
        if not holder or not other:
            # Without a subject a name may be the speaker's; a sister is never the speaker.
            return not self.subject and not any(map(classes, holder | other))
        return self._alike(" ".join(sorted(holder)), " ".join(sorted(other)))

    def _one_slot(self, old: Frame, new: Frame) -> bool:
        if old.key == new.key or _full_name(old) == _full_name(new):
            return True
        kinds, things = zip(*(key.partition(":")[::2] for key in (old.key, new.key)), strict=True)
        # "Has no allergies" is about all of them.
        return kinds[0] == kinds[1] and (not all(things) or self._alike(*things))

    def _one_value(self, old: Frame, new: Frame) -> bool:
        terms, other = old.terms, new.terms
        if terms == other or not terms or not other:
            return terms == other
        numbers = [{term for term in some if term[0].isdigit()} for some in (terms, other)]
        if all(numbers) and not (numbers[0] <= numbers[1] or numbers[1] <= numbers[0]):
            return False
        # "Lisbon" and "Lisbon, Portugal" are one place told twice.
        if terms <= other or other <= terms or jaccard(terms, other) > 0.5:
            return True
        return self._alike(old.value, new.value)

    def _alike(self, value: str, other: str) -> bool:
        if self.likeness is None or not value or not other:
            return False
        # Of two things that the vocabulary knows it has told already that they differ.
        named = [{word for word in terms(text) if not word[0].isdigit()} for text in (value, other)]
        if all(are_all(words, *_KNOWN) for words in named):
            return False
        return (self.likeness(value, other) or 0) >= SAME_THING


_KNOWN = ("colour", "day", "month", "language", "country", "city", "pet", "kin", "couple", "job",
          "food", "number", *TOOLS)  # fmt: skip


def _full_name(frame: Frame) -> frozenset[str]:
    """Name slot and holder: "the wifi password" and "the password of the wifi" are one slot."""
    return frame.holder | set(frame.key.split(" "))


def _is_replaced(old: Frame, new: Frame) -> bool:
    """Return whether the old value is named as the one that goes: "Bun over npm"."""
    if not old.terms or not new.replaced or old.ended or new.ended:
        return False
    used = old.key.split(":")[0] in {"use", "favourite", "prefers", *TOOLS}
    one_slot = used or old.key == new.key or new.key == "switch"
    return one_slot and old.polarity > 0 < new.polarity and old.terms <= new.replaced


def _is_renamed(old: Frame, new: Frame) -> bool:
    """Return whether a pet has another name: "I have a dog called Rex" … "no, he's called Max"."""
    kind, _, noun = new.key.partition(":")
    if old.key != "owns:pet" or kind != "called":
        return False
    return noun in old.terms and len(old.terms) > 1 and not new.terms <= old.terms


def _other_count(old: Frame, new: Frame) -> Ruling:
    counts = [{term for term in frame.terms if term.isdigit()} for frame in (old, new)]
    if old.terms - counts[0] != new.terms - counts[1] or not all(counts):
        return _BESIDE
    return _AGAIN if counts[0] == counts[1] else ("supersedes", "count")


def _across_slots(old: Frame, new: Frame) -> Ruling:
    """Return what excludes each other although it is told of two things."""
    if new.ended and new.key == "employer" and not new.terms and old.key == "job":
        # A nurse who retires is not a nurse any more; a writer may still write.
        return ("ends", "ended") if not (old.ended or old.weak) else _APART
    if old.ended or new.ended:
        return _APART
    for frame, other in ((old, new), (new, old)):
        if _is_disliked(frame, other):
            return "contradicts", "taste"
        if _is_forbidden(frame, other):
            return "contradicts", "diet"
        is_single = frame.key == "relationship status" and "single" in frame.terms
        if is_single and other.key == "couple" and min(frame.polarity, other.polarity) > 0:
            return ("supersedes" if other is new else "contradicts"), "role"
    return _APART


def _is_disliked(taste: Frame, pet: Frame) -> bool:
    """Return whether somebody has what they dislike: "Doesn't like cats", "got a cat"."""
    tells = taste.key.startswith("likes:") and taste.polarity < 0
    return tells and pet.key == "owns:pet" and pet.polarity > 0 and bool(taste.terms & pet.terms)


def _is_forbidden(diet: Frame, food: Frame) -> bool:
    tells = diet.key == "diet" and diet.polarity > 0
    eaten = food.key.startswith("eats:") and food.polarity > 0
    foods = [foods for name, foods in _FORBIDDEN.items() if name in diet.terms]
    return tells and eaten and bool(foods and food.terms & foods[0])


def _other_preference(old: Frame, new: Frame, *, is_change: bool, correcting: bool) -> Ruling:
    """Judge two preferences: "short answers" and "long answers" are opposites, "tea" is beside."""
    if old.terms & new.replaced or new.terms & old.replaced:
        return _OTHER
    gone, come = old.terms - new.terms, new.terms - old.terms
    if old.terms & new.terms:
        opposite = any(are_opposite(word, other) for word in gone for other in come)
        return _OTHER if opposite or (correcting and gone and come) else _BESIDE
    drinks = all(are_all(some, "food") and len(some) == 1 for some in (old.terms, new.terms))
    return _OTHER if drinks and (is_change or correcting) else _BESIDE


@dataclass(frozen=True)
class _Claim:
    """A statement as its words tell it: what it claims, whether it denies it, its numbers."""

    gist: frozenset[str]
    denied: bool
    ended: bool
    numbers: frozenset[str]


def _compare_words(old: _Claim, new: _Claim) -> Verdict:
    """Judge what no rule reads: the same claim denied, ended, or with another number."""
    if old.denied != new.denied and not old.ended and jaccard(old.gist, new.gist) >= SAME_CLAIM:
        return Verdict("ends", "ended") if new.ended else Verdict("contradicts", "negation")
    if old.denied or new.denied or not (old.numbers and new.numbers) or old.numbers & new.numbers:
        return UNRELATED
    words = [{word for word in claim.gist if not word[0].isdigit()} for claim in (old, new)]
    alike = bool(words[0]) and jaccard(*words) >= SAME_BUT_NUMBERS
    return Verdict("supersedes", "number") if alike else UNRELATED


@lru_cache(maxsize=8192)
def _claim(text: str) -> _Claim:
    stance = read_stance(plain(text))
    against = set(re.findall(r"\w+", fold(stance.bare))) & _AGAINST
    numbers = frozenset(number.strip(".,:/-") for number in _NUMBER.findall(text))
    denied = (stance.negated or stance.ended) != bool(against)
    return _Claim(frozenset(_gist(stance.bare)), denied, stance.ended, numbers)


def _gist(bare: str) -> Iterator[str]:
    """Yield the words that carry the claim, whichever way it points."""
    for word in tokens(bare):
        short = word.removesuffix("s")
        word = _OPPOSED.get(short, short if short in _CARRYING else word)
        if word in _CARRYING:
            yield word
        elif word not in _SHADES and (meaning := canonical(word)):
            yield stem(meaning, "en")
