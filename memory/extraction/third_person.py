"""First-person clauses retold about their author, in the language and words they were said in."""

import re

from memory.extraction.third_person_es import retell_spanish, swap

_PAST_VERBS = """
became began bought broke brought built came chose did drove fell felt flew forgot found gave got
grew had heard held hurt kept knew led left lost made met put quit ran read saw sent slept sold
spent stood swam taught thought told took was went won wore wrote
"""
PAST = frozenset(_PAST_VERBS.split())
_NOT_PAST = frozenset(["need", "feed", "speed", "breed", "exceed", "succeed", "proceed", "bleed"])
_MODALS = frozenset(
    ["can", "can't", "cannot", "could", "couldn't", "will", "won't", "must", "should"]
)
_ADVERBS = (
    r"(?:really|usually|generally|always|never|still|also|just|mostly|often|rarely|sometimes"
    r"|currently|recently|now|only|actually|much|absolutely|truly|kind of|strongly|definitely"
    r"|finally|already|do|no longer)"
)
_I = re.compile(rf"I((?:\s+{_ADVERBS})*)\s+([A-Za-z']+)(.*)", re.IGNORECASE | re.DOTALL)
_EN_START = [
    (re.compile(r"I(?:'m|’m| am)\b", re.I), "{who} is"),
    (re.compile(r"I(?:'ve|’ve| have) got\b", re.I), "{who} has"),
    (re.compile(r"I(?:'ve|’ve| have)\b", re.I), "{who} has"),
    (re.compile(r"I(?:'d|’d)\b", re.I), "{who} would"),
    (re.compile(r"I(?:'ll|’ll)\b", re.I), "{who} will"),
    (re.compile(r"I don(?:'t|’t)\b", re.I), "{who} doesn't"),
    (re.compile(r"I do not\b", re.I), "{who} does not"),
    (re.compile(r"we(?:'re|’re| are)\b", re.I), "The group is"),
    (re.compile(r"we(?:'ve|’ve| have)\b", re.I), "The group has"),
    (re.compile(r"we\b", re.I), "The group"),
    (re.compile(r"(?:please )?call me\b", re.I), "{who} wants to be called"),
    (re.compile(r"(?:people|everyone|friends|my friends) calls? me\b", re.I), "People call {who}"),
    (re.compile(r"my\b", re.I), "{whose}"),
    (re.compile(r"our\b", re.I), "The group's"),
]
_EN_INSIDE = [
    (re.compile(r"\bI(?:'m|’m| am)\b"), "they are"),
    (re.compile(r"\bI(?:'ve|’ve)\b"), "they have"),
    (re.compile(r"\bI\b"), "they"),
    (re.compile(r"\bmy\b", re.I), "their"),
    (re.compile(r"\bmyself\b", re.I), "themselves"),
    (re.compile(r"\bme\b", re.I), "them"),
    (re.compile(r"\bwe\b", re.I), "they"),
    (re.compile(r"\bour\b", re.I), "their"),
]


def retell(clause: str, *, author: str, language: str) -> str:
    """The clause about its author; empty when it is not told in the first person."""
    retold = retell_spanish(clause, author) if language == "es" else _english(clause, author)
    return retold[:1].upper() + retold[1:]


def _english(clause: str, author: str) -> str:
    who, whose = author or "User", f"{author}'s" if author else "User's"
    for start, other in _EN_START:
        if found := start.match(clause):
            rest = swap(clause[found.end() :], _EN_INSIDE)
            return other.format(who=who, whose=whose) + rest
    if found := _I.fullmatch(clause):
        adverbs, verb, rest = found.groups()
        return f"{who}{adverbs} {_third(verb)}{swap(rest, _EN_INSIDE)}"
    return ""


def _third(verb: str) -> str:
    """prefer -> prefers; "moved" and "can" stay."""
    low = verb.lower()
    if low in PAST | _MODALS or (low.endswith("ed") and low not in _NOT_PAST):
        return verb
    if low in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[low]
    if low.endswith(("s", "x", "z", "ch", "sh")):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", low) else verb + "s"
