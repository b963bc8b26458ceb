"""Does the message really say what the fact claims? By stems, in any script, without a model."""

import re
from collections.abc import Iterable

from memory.text import STOP_WORDS, clean, fold, normalise, stem, words

# Words a fact adds to a saying without claiming anything new.
_ADDED = """
user usuario usuaria author person persona group grupo team equipo name nombre says said dice dijo
wants goes called named llama llamen
"""
_FRAME = frozenset(map(fold, [*STOP_WORDS["en"], *STOP_WORDS["es"], *_ADDED.split()]))
_NEGATION = re.compile(
    r"\b(?:not|never|no|nor|without|cannot|stopped|quit|nunca|jamas|tampoco|ni|sin|deje)\b|n't\b"
)
# "Dislikes X" and "doesn't like X" say the same.
_AVERSION = re.compile(
    r"\b(?:dislik|hate|detest|avoid|odi[ao]|evit|allerg|alergi|intoleran|anymore|ya no)"
)
_DISLIKED = re.compile(
    r"(?:\bnot|n't|\bno(?: me)?) (?:\w+ )?(?:like|love|enjoy|stand|gusta|soporto)"
    r"|\bhate|\bodi|\bdetest"
)
_SENTENCE = re.compile(r"[^.!?…;\n]+(?:[.!?…;]+|\n|$)")


def is_grounded(fact: str, source: str, *, names: Iterable[str] = ()) -> bool:
    """Every name and number of the fact, and most of its other words, stand in the source."""
    known = {fold(part) for name in names for part in words(name)}
    claimed = [w for w in map(fold, words(fact)) if w not in _FRAME and _bare(w) not in known]
    if not claimed or not source.strip():
        return False
    if normalise(fact) in normalise(source):
        return True
    heard = _forms(source)
    missing = [word for word in claimed if not _is_heard(word, heard)]
    if _DISLIKED.search(fold(source)):
        missing = [word for word in missing if not _AVERSION.match(word)]
    if any(word.isnumeric() for word in missing) or _names(fact, known) & set(missing):
        return False
    return len(missing) <= _tolerated(len(claimed)) and _agrees(fact, source, claimed)


def quote_for(fact: str, source: str, *, evidence: str = "", names: Iterable[str] = ()) -> str:
    """The words of the source the fact rests on, verbatim; empty when there are none."""
    if evidence.strip() and (found := _verbatim(evidence, source)):
        return found
    sentences = [m.group().strip() for m in _SENTENCE.finditer(source)]
    best = [s for s in sentences if is_grounded(fact, s, names=names)]
    return min(best, key=len) if best else ""


def _verbatim(evidence: str, source: str) -> str:
    """The evidence as it stands in the source, whatever happened to its spaces on the way."""
    parts = [re.escape(part) for part in clean(evidence).strip(" \"'“”").split()]
    found = re.search(r"\s+".join(parts), source, re.IGNORECASE) if parts else None
    return found.group() if found else ""


def _bare(word: str) -> str:
    return word.removesuffix("'s")


def _forms(text: str) -> set[str]:
    """Each word of the text, folded, as it stands and as both languages stem it."""
    return {form for word in words(text) for form in _stems(fold(word))}


def _stems(word: str) -> set[str]:
    bare = _bare(word)
    return {bare, fold(stem(bare, "en")), fold(stem(bare, "es"))}


def _is_heard(word: str, heard: set[str]) -> bool:
    return bool(_stems(word) & heard) or any(_share_root(word, other) for other in heard)


def _share_root(a: str, b: str) -> bool:
    """Forms of one word in a language without a stemmer: a long common beginning."""
    shorter = min(len(a), len(b))
    if shorter < 4 or abs(len(a) - len(b)) > 4:
        return False
    common = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    return common >= max(3, 0.7 * shorter)


def _names(fact: str, known: set[str]) -> set[str]:
    """Capitalised words inside the fact: a name may never be invented."""
    found = re.findall(r"(?<=[\w,:]\s)[A-ZÀ-ÝА-Я][\w'’-]+", fact)
    return {fold(part) for name in found for part in words(name)} - known - _FRAME


def _tolerated(claimed: int) -> int:
    return 0 if claimed <= 2 else claimed * 2 // 5


def _agrees(fact: str, source: str, claimed: list[str]) -> bool:
    """A fact without a "not" does not rest on a sentence with one, nor the other way round."""
    if _AVERSION.search(fold(fact)):
        return True
    near = [s for s in _SENTENCE.findall(source) if set(claimed[-3:]) & _forms(s)] or [source]
    denied = {bool(_NEGATION.search(fold(sentence))) for sentence in near}
    return bool(_NEGATION.search(fold(fact))) in denied
