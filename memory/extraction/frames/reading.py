"""Read the frames of a statement, and what it tells besides one of them."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from memory.extraction.frames.clauses import (
    Clause,
    Stance,
    clauses,
    holder,
    is_named,
    is_real,
    is_somebody,
    plain,
    read_stance,
    split,
    spoken_of,
)
from memory.extraction.frames.readers import BEINGS, slots
from memory.extraction.frames.vocabulary import (
    Slot,
    attribute_name,
    classes,
    holds,
    phrase,
    terms,
    trim,
)
from memory.text.normalise import fold

MAX_LENGTH = 400
# What a line may be labelled with that says nothing about a slot.
_LABELS = frozenset(
    """preference fact note user memory correction reminder update lesson rule decision procedure
    question answer warning tip info fyi important save limit plan task""".split()
)
_ROLE_NAME = re.compile(
    r"\b(?P<w>[Mm]y|[Hh]er|[Hh]is|[Tt]heir|[Oo]ur|[Mm]i|[Ss]u|\w+'s) (?P<x>[a-z]+),?"
    r" (?P<n>[A-ZÑ][a-zñ]+)\b"
)
_OTHER_NAMES = {"language": "language preference", "city": "home"}
# Slots that only a person or a pet can fill.
_OF_SOMEBODY = frozenset(
    """home employer job age origin likes eats drinks smokes owns allergy diet studies speaks
    household children prefers has""".split()
) | {"relationship status", "language preference"}


@dataclass(frozen=True)
class Frame:
    """One thing told of somebody: which slot, with which value, and whether it is so."""

    key: str
    value: str
    # The value in words that both languages share.
    terms: frozenset[str]
    # -1 when the thing told is a "not"; of what has ended, whether it was so or was not so.
    polarity: int = 1
    ended: bool = False
    # The slot holds one value at a time.
    exclusive: bool = True
    # It holds one value at a time only for a change that is told, or a correction.
    weak: bool = False
    # Told as something new: "now", "moved", "switched".
    changed: bool = False
    # Whose it is when not the subject's own: {"sister"}, {"marc"}.
    holder: frozenset[str] = frozenset()
    # What the value takes the place of, when that is named.
    replaced: frozenset[str] = frozenset()
    # Values exclude each other only when they are of one sort: a day and a day.
    sort: str = ""
    # The clause it was read from, without accents and contractions.
    clause: str = ""


def frame_of(text: str, *, subject: str = "") -> Frame | None:
    """Return the first frame of a statement; None when no rule is certain."""
    return next(iter(frames_of(text, subject=subject)), None)


@lru_cache(maxsize=8192)
def frames_of(text: str, *, subject: str = "") -> tuple[Frame, ...]:
    """Return all frames of a statement, clause by clause, in whichever language it is."""
    line = plain(text[:MAX_LENGTH])
    if pair := phrase("key_value").match(line):
        if frame := _key_value(pair["k"], pair["v"], subject):
            return (frame,)
        line = pair["v"]
    frames: list[Frame] = []
    for clause in clauses(line):
        _add(frames, clause, subject)
    return tuple(frames)


def _add(frames: list[Frame], clause: Clause, subject: str) -> None:
    """Append what the clause tells, or let it end or replace what the clause before told."""
    if frames and phrase("only_ended").match(clause.text):
        frames[-1] = replace(frames[-1], ended=True)
        return
    added = _read(clause, subject)
    if added or not frames or not frames[-1].ended:
        frames += added
    elif instead := phrase("instead").match(clause.text):
        # "Ya no trabajo en el hospital, ahora en una clínica": the slot of what ended.
        value = trim(instead["v"])
        over = replace(frames[-1], ended=False, changed=True)
        frames.append(replace(over, value=value, terms=terms(value), clause=clause.text))


def _read(clause: Clause, subject: str) -> list[Frame]:
    if clause.text.endswith("?") or "¿" in clause.text or clause.about is None:
        return []
    stance = read_stance(phrase("opening").sub("", clause.text))
    if stance.unclear:
        return []
    bare = _bare(stance.bare)
    # A "not" inside the value denies something else.
    denied_from = len(_bare(stance.before))
    filled = [slot for slot in slots(bare) if slot.start >= denied_from]
    frames = [frame for slot in filled if (frame := _frame(slot, stance, clause, subject))]
    return frames + _partner_in_passing(stance, clause.text, subject, frames)


def _bare(text: str) -> str:
    without = phrase("adverb").sub(" ", phrase("opening").sub("", text))
    return " ".join(without.split()).strip(" ,.!")


def _frame(filled: Slot, stance: Stance, clause: Clause, subject: str) -> Frame | None:
    """Put the slot together with whose it is; None when that cannot be told."""
    told_of = spoken_of(filled.whose)
    if told_of is None or (not is_real(filled.whose) and filled.key != "language preference"):
        return None
    whose = f"{clause.about} {told_of}".strip()
    theirs = holder(whose, subject)
    if theirs is None or not _fits(filled.key, whose, theirs):
        return None
    key, theirs = _renamed(filled.key, whose, theirs)
    past = holds("long_ago", clause.text)
    return Frame(
        key=key,
        value=filled.value,
        terms=filled.terms,
        polarity=-filled.sign if stance.negated else filled.sign,
        ended=filled.ended or stance.ended,
        exclusive=filled.exclusive,
        weak=filled.weak or (filled.changed and past),
        changed=(filled.changed and not past) or holds("now", stance.bare),
        holder=theirs,
        replaced=filled.replaced,
        sort=filled.sort,
        clause=clause.text,
    )


def _fits(key: str, whose: str, theirs: frozenset[str]) -> bool:
    """Return whether such a holder fills such a slot: "papa's cholesterol is 280" is not an age."""
    if key == "age" and not is_named(whose, theirs):
        return False
    return key.split(":")[0] not in _OF_SOMEBODY or is_somebody(whose, theirs)


def _renamed(key: str, whose: str, theirs: frozenset[str]) -> tuple[str, frozenset[str]]:
    """Return key and holder: the dog bears the name in "my dog is called Rex"."""
    if key != "name":
        return key, theirs
    things = frozenset(term for term in theirs if classes(term) & BEINGS)
    if not things and not (len(theirs) == 1 and is_named(whose, theirs)):
        things = theirs
    return (f"called:{' '.join(sorted(things))}", theirs - things) if things else (key, theirs)


def _key_value(key: str, value: str, subject: str) -> Frame | None:
    """Read "Package manager: Bun". A label without a meaning of its own is not a slot."""
    what = terms(phrase("favourite").sub(" ", key)) - terms(subject) - _LABELS
    stance = read_stance(phrase("bracket").sub("", value).strip(" ."))
    words = terms(stance.bare)
    if not what or len(what) > 4 or holds("no_key", key):
        return None
    if stance.unclear or not trim(stance.bare) or len(words) > 8:
        return None
    name = _slot_name(key, what, stance.bare)
    return Frame(
        key=name,
        value=stance.bare,
        terms=words,
        polarity=-1 if stance.negated else 1,
        ended=stance.ended,
        exclusive=not any("many" in classes(term) for term in (*what, name)),
        changed=holds("now", value),
        sort="town" if name == "home" else "",
        clause=f"{key}: {value}",
    )


def _slot_name(key: str, what: frozenset[str], value: str) -> str:
    if holds("several_languages", key):
        return "languages spoken"
    name = " ".join(sorted(what))
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    if name == "allergy":
        return f"allergy:{attribute_name(value)}"
    return f"favourite:{name}" if holds("favourite", key) else name


def _partner_in_passing(
    stance: Stance, clause: str, subject: str, frames: list[Frame]
) -> list[Frame]:
    """Return the partner that is named in passing: "lives with her husband Marc"."""
    if stance.negated or stance.ended or any(frame.key == "couple" for frame in frames):
        return []
    for match in _ROLE_NAME.finditer(clause):
        role = attribute_name(match["x"])
        if not _is_own(match["w"], clause, subject):
            continue
        if "couple" in classes(role) and fold(match["n"]) not in fold(subject).split():
            value = f"{role} {match['n']}"
            return [Frame("couple", value, terms(value), clause=clause)]
    return []


def _is_own(whose: str, clause: str, subject: str) -> bool:
    """Return whether "her husband" is the subject's, not that of the sister the clause is about."""
    word, own = fold(whose), fold(subject).split()
    if word.endswith("'s"):
        return not own or word.removesuffix("'s") in own
    begins = fold(clause).split()[:1]
    return word in ("my", "our", "mi") or not own or begins[0] in own


# Slots whose value can be cut out and leave a sentence behind.
_CUT_OUT = frozenset({"home", "employer"})
_GOES_ON = re.compile(r"(?i)^\s*(?:with|as|con|como|de)\b")


def remainder(text: str, frame: Frame, *, subject: str = "") -> list[str]:
    """Return the other statements of the text, in its own words."""
    parts = [(part, frames_of(part, subject=subject)) for part in split(text) if part]
    slot = (frame.key, frame.terms)
    hits = [part for part, told in parts if slot in [(other.key, other.terms) for other in told]]
    if len(hits) != 1:
        return []
    # Kept is what has a frame of its own or is long enough to be a statement.
    others = [part for part, told in parts if told or len(part.split()) >= 3]
    return _without_value(hits[0], frame) + [part for part in others if part != hits[0]]


def _without_value(part: str, frame: Frame) -> list[str]:
    """Return "Lives with Marc" of "Lives in Valencia with Marc"; nothing when no more was told."""
    if frame.key not in _CUT_OUT or not frame.value:
        return []
    words = r"\W+".join(map(re.escape, fold(frame.value).split()))
    match = re.search(rf"\s+(?:in|at|for|en|para|a|to) {words}(?!\w)", fold(part))
    # Folding may change the length of a text; then nothing is cut out of it.
    if not match or len(fold(part)) != len(part) or not _GOES_ON.match(part[match.end() :]):
        return []
    return [part[: match.start()] + part[match.end() :]]
