"""The tense of the verb beside an expression: "on Friday" differs in "we met" and "we meet".

No parser: forms that English and Spanish write only for the past, the future or the present. The
first form of tense.txt that fits a place takes it.
"""

import re
from pathlib import Path

from memory.guards import rulebook


def _forms(language: str) -> list[tuple[str, re.Pattern]]:
    rules = rulebook.read(Path(__file__).with_name("tense.txt"))
    named = [(name.split("/"), pattern) for name, pattern in rules]
    return [(tense, re.compile(pattern)) for (of, tense), pattern in named if of == language]


FORMS = {language: _forms(language) for language in ("en", "es")}
_SENTENCE_END = re.compile(r"[.!?…;]+(?=\s|$)|\n")
_CLAUSE_END = re.compile(
    r"[,:()\"“”«»]|\s[-–—]+\s|\b(?:and|but|so|because|cos|when|while|which|that|then|y|pero"
    r"|porque|xq|pq"
    r"|cuando|mientras|aunque|entonces|que|q)\b"
)
# A clause with so few longer words beside its date has no verb of its own: "On Friday, we met".
SHORT_CLAUSE = 1
# A verb further away, in a text without full stops, belongs to something else.
REACH = 160


# "By the first Sunday of June": what counts is the word before the part.
_WITHIN = (
    r"(?:(?:the|el|la|like|about|around|como)\s+)*(?:(?:early|mid|late"
    r"|(?:\w+\s+)?(?:\w+)\s+(?:of|del?))"
    r"[\s-]+(?:the\s+|el\s+)?)?$"
)
_FORWARD = re.compile(
    rf"\b(?:for|by|before|due|due\s+(?:on|in)|to|para|al|antes\s+del?)\s+{_WITHIN}"
)
_ENDS = re.compile(rf"\b(?:until|till|til|hasta)\s+{_WITHIN}")
_LOOKS_BACK = re.compile(rf"\b(?:since|desde)\s+{_WITHIN}|\bsince(?:\s+\w+){{1,4}}\s+(?:in|of)\s+$")
_HOUR_AFTER = re.compile(r"\s+(?:a\s+las?|at)\s+\w")


def tense_at(text: str, plain: str, start: int, end: int, *, language: str) -> str:
    """Return the tense in which the words from `start` to `end` are said, or "" if nothing tells.

    `text` keeps its accents and has no names, `plain` is folded; both have the same places.
    """
    verb, own = _verb_at(text, start, end, language)
    before = plain[max(0, start - 60) : start]
    if _FORWARD.search(before) or (verb == "perfect" and _ENDS.search(before)):
        return "future"  # "booked for Easter", "they've lent it to us until Easter"
    if (verb == "either" or not own) and _HOUR_AFTER.match(plain, end):
        return "present"
    since = _LOOKS_BACK.search(before)
    if since and (verb != "future" or since.group().startswith("since")):
        return "past"  # "I'm walking again since Sunday", but "desde el lunes trabajaré en casa"
    return verb


def _verb_at(text: str, start: int, end: int, language: str) -> tuple[str, bool]:
    """Return the tense of the nearest verb, and whether it stands in the same clause."""
    forms = FORMS.get(language) or FORMS["en"] + FORMS["es"]
    left, right = max(0, start - REACH), min(len(text), end + REACH)
    left, right = _bounds(_SENTENCE_END, text, start, end, left, right)
    near = _bounds(_CLAUSE_END, text, start, end, left, right)
    verb = _nearest(forms, text, start, end, *near)
    rest = text[near[0] : start] + text[end : near[1]]
    if verb or len([word for word in rest.split() if len(word) > 3]) > SHORT_CLAUSE:
        return verb, True
    return _nearest(forms, text, start, end, left, right), False


def _bounds(
    mark: re.Pattern, text: str, start: int, end: int, left: int, right: int
) -> tuple[int, int]:
    """Return where the stretch around an expression begins and ends, cut at every mark."""
    for hit in mark.finditer(text, left, start):
        left = hit.end()
    after = mark.search(text, end, right)
    return left, after.start() if after else right


def _nearest(forms, text: str, start: int, end: int, left: int, right: int) -> str:
    """Return the tense of the nearest form; what stands before the expression counts first."""
    found: list[tuple[int, int, str]] = []
    for tense, pattern in forms:
        for hit in pattern.finditer(text, left, right):
            inside = hit.end() > start and hit.start() < end
            if not inside and not any(hit.start() < b and a < hit.end() for a, b, _ in found):
                found.append((*hit.span(), tense))
    before = [(start - b, tense) for _, b, tense in found if b <= start]
    after = [(a - end, tense) for a, _, tense in found if a >= end]
    near = [tense for _, tense in sorted(before) + sorted(after)]
    if near and near[0] == "either":
        # It goes with the next one that is sure; "en enero abrimos" is rather a plan.
        sure = next((tense for tense in near if tense != "either"), "")
        return sure or ("either" if before else "present")
    return near[0] if near else ""
