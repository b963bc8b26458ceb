"""Check that a message really says what a fact claims: meaning, names, numbers and negation.

Nothing of the fact may be new. Its names, numbers, dates and people must stand in the message, what
is denied in one must be denied in the other, and each of its other words must be there in some
form: itself, a word for the same, or one that the local embedding model takes for the same.
"""

import re
from collections.abc import Iterable
from itertools import pairwise

from memory.extraction import statements
from memory.extraction.grammar.sentences import data_beside
from memory.extraction.statements import FRAME, Statement, stems
from memory.text.normalise import clean, fold, normalise
from memory.vectors import likeness

_DATA = data_beside(__file__)

# A word this like one of the message says the same. Two drinks or two jobs are at most .75 alike,
# a word and its translation are mostly more; for other synonyms there are the concepts.
SAME_WORD = 0.78
# Whole sentences that say nearly the same; in them a word may be less like.
ALIKE = 0.8
SAME_IN_ALIKE = 0.66
# Enough for words that claim little by themselves: "works", "has", the name before a colon.
SAME_LIGHT_WORD = 0.42
# Enough for the second half of a compound whose first half is there: "frontend developer".
SAME_HEAD = 0.3
MAX_COMPARED = 60  # words and pairs of words of one message


def is_grounded(fact: str, message: str, *, names: Iterable[str] = ()) -> bool:
    """Return whether the message says all that the fact claims; the speaker's `names` are free."""
    claim, source = Statement.of(fact, names=names), Statement.of(message)
    if not message.strip() or not (claim.content or claim.strict):
        return False
    if _is_about_another(claim, source):
        return False
    if normalise(fact) in normalise(message):
        return True
    return (
        source.quantities.cover(claim.quantities)
        and claim.dates <= source.dates
        and claim.strict <= source.strict
        and all(_is_heard(name, source) for name in claim.names)
        and not _contradicts(claim, source)
        and _agrees(claim, source)
        and not _unheard(claim, source)
    )


def quote_for(fact: str, source: str, *, evidence: str = "", names: Iterable[str] = ()) -> str:
    """Return the words of the source the fact rests on, verbatim; empty when there are none."""
    if evidence.strip() and (quote := _verbatim(evidence, source)):
        return quote
    sentences = [m.group().strip() for m in _DATA.sentence.finditer(source)]
    best = [s for s in sentences if is_grounded(fact, s, names=names)]
    return min(best, key=len) if best else ""


def _verbatim(evidence: str, source: str) -> str:
    """Return the evidence as it stands in the source, with the spaces it has there."""
    parts = [re.escape(part) for part in clean(evidence).strip(" \"'“”").split()]
    match = re.search(r"\s+".join(parts), source, re.IGNORECASE) if parts else None
    return match.group() if match else ""


def _contradicts(claim: Statement, source: Statement) -> bool:
    """Return whether the claim takes the other side of the source: long for short."""
    sides = {label for label in claim.concepts if statements.kind(label) == "against"}
    return any(
        statements.opposite(s) in source.concepts and s not in source.concepts for s in sides
    )


def _is_about_another(claim: Statement, source: Statement) -> bool:
    """Return whether the message speaks of the speaker's kin, and the claim of nobody in it."""
    match = _DATA.about_kin.match(source.text)
    if not match or not _DATA.about_speaker.match(claim.folded):
        return False
    kin = {label for label in Statement(match["kin"]).strict if label.startswith("kin")}
    return bool(kin) and not kin & claim.strict and fold(match["name"] or "") not in claim.words


def _agrees(claim: Statement, source: Statement) -> bool:
    """Return whether both deny or both affirm, in the clauses that share a word with the claim."""
    if _DATA.comparison.search(claim.folded):
        return True
    clauses = _clauses(source)
    forms = {form for place in claim.content for form in stems(claim.words[place])}
    near = [c for c in clauses if forms & Statement(c).forms or claim.strict & Statement(c).strict]
    return _is_denied(claim.folded) in {_is_denied(c) for c in near or [source.folded]}


def _clauses(source: Statement) -> list[str]:
    return [clause for clause in _DATA.clause.split(source.folded) if clause.strip()]


def _is_denied(folded: str) -> bool:
    """Return whether the number of negations is odd; "ya no" and "no longer" are one."""
    return len(_DATA.negator.findall(folded)) % 2 == 1


def _unheard(claim: Statement, source: Statement) -> list[str]:
    """Return the words of the claim that the message holds in no form."""
    places = {place for place in claim.content if _is_heard(claim.words[place], source)}
    places |= _heard_as_concepts(claim, source)
    if any(map(_is_denied, _clauses(source))):  # who says "don't send me" dislikes what is sent
        places |= {place for place in claim.content if _DATA.aversion.fullmatch(claim.words[place])}
    missing = [place for place in claim.content if place not in places]
    if not missing:
        return []
    unlike = _unlike(claim, source, missing, places)
    # One word more in a sentence that is else the same adds nothing, unless it took one's place.
    spare = len(unlike) == 1 and len(claim.content) >= 3 and not _left_over(claim, source)
    return [] if spare and _is_alike(claim, source) else unlike


def _is_alike(claim: Statement, source: Statement) -> bool:
    score = likeness.likeness(claim.text, source.text)
    return score is not None and score >= ALIKE


def _left_over(claim: Statement, source: Statement) -> list[str]:
    """Return the words of the source that nothing in the claim stands for."""
    words = [source.words[place] for place in source.content]
    return [
        word
        for word in words
        if not _is_heard(word, claim) and not Statement(word).concepts & claim.concepts
    ]


def _heard_as_concepts(claim: Statement, source: Statement) -> set[int]:
    """Return the places of the claim whose concept the source names too, in whatever word."""
    return {
        place + offset
        for place, size, labels in claim.labels
        if any(not label.startswith("against") for label in labels & source.concepts)
        for offset in range(size)
    }


def _unlike(
    claim: Statement, source: Statement, missing: list[int], heard_places: set[int]
) -> list[str]:
    """Return the missing words that nothing in the source is like enough to."""
    spans = _spans(source)
    table = likeness.table([claim.words[place] for place in missing], spans)
    if table is None:
        return [claim.words[place] for place in missing if claim.words[place] not in _DATA.light]
    same = SAME_IN_ALIKE if _is_alike(claim, source) else SAME_WORD
    return [
        claim.words[place]
        for place, score in zip(missing, table.max(axis=1), strict=True)
        if score < _enough(claim, place, heard_places, same)
    ]


def _enough(claim: Statement, place: int, heard_places: set[int], same: float) -> float:
    word = claim.words[place]
    before, colon, _after = claim.folded.partition(":")
    is_label = bool(colon) and word in Statement(before).words
    if (is_label and word in _DATA.labels) or _DATA.works_as.search(f"{word} {claim.folded}"):
        return 0.0
    if place - 1 in heard_places:
        return SAME_HEAD
    return SAME_LIGHT_WORD if word in _DATA.light or is_label else same


def _spans(source: Statement) -> list[str]:
    """Return the message's own words that carry meaning, alone and in pairs; never its names."""
    named = source.names
    words = [word for word in source.words if word not in named]
    single = [word for word in words if word not in FRAME]
    pairs = [f"{a} {b}" for a, b in pairwise(words) if {a, b} - FRAME]
    return list(dict.fromkeys([*single, *pairs]))[:MAX_COMPARED]


def _is_heard(word: str, source: Statement) -> bool:
    return bool(stems(word) & source.forms) or any(_share_root(word, w) for w in source.forms)


def _share_root(a: str, b: str) -> bool:
    """Return whether two words begin alike: forms of one, in a language without a stemmer."""
    shorter = min(len(a), len(b))
    if shorter < 4 or abs(len(a) - len(b)) > 4:
        return False
    common = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    return common >= max(3, 0.66 * shorter)
