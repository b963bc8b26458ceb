"""What is known about a person, told to that person: "Ana's dog is…" as "Your dog is…".

The way back from third_person, for what is said in a chat; what is stored stays as it is. What
these rules do not know is left as it was.
"""

import re

from memory.extraction.third_person import PAST
from memory.text import detect_language

_IRREGULAR = {"is": "are", "isn't": "aren't", "was": "were", "wasn't": "weren't", "has": "have",
              "hasn't": "haven't", "does": "do", "doesn't": "don't", "goes": "go"}  # fmt: skip
_SAME = frozenset("can can't cannot could couldn't will won't must should would didn't".split())
_ADVERBS = (
    r"(?:(?:really|usually|always|never|still|also|just|mostly|often|rarely|sometimes|currently"
    r"|now|only|no longer|finally|already)\s+)*"
)
_EN_INSIDE = [("their", "your"), ("themselves", "yourself"), ("they", "you"), ("them", "you")]
_ES_ADVERBS = (
    r"(?:(?:no|nunca|siempre|casi|ya|también|todavía|aún|solo|sólo|ahora|actualmente)\s+)*"
)
_ES_IRREGULAR = {"es": "eres", "fue": "fuiste", "dio": "diste", "hizo": "hiciste",
                 "dijo": "dijiste", "tuvo": "tuviste", "vino": "viniste"}  # fmt: skip
_ES_INSIDE = [("su", "tu"), ("sus", "tus"), ("consigo", "contigo")]


def told_to(person: str, fact: str) -> str:
    """The fact as one says it to the person it is about; unchanged when it is about others."""
    if not person:
        return fact
    # Facts begin with a capital, names of accounts do not.
    name = f"(?i:{re.escape(person)})"
    told = _spanish(fact, name) if detect_language(fact) == "es" else _english(fact, name)
    return told[:1].upper() + told[1:] if told else fact


def _english(fact: str, name: str) -> str:
    if found := re.fullmatch(rf"{name}['’]s\s+(.+)", fact, re.S):
        return f"your {_swapped(found[1], _EN_INSIDE)}"
    found = re.fullmatch(rf"{name}\s+({_ADVERBS})([a-z']+)\b(.*)", fact, re.S)
    verb = _second(found[2]) if found else ""
    return f"you {found[1]}{verb}{_swapped(found[3], _EN_INSIDE)}" if verb else ""


def _second(verb: str) -> str:
    """lives -> live; "" for what is no verb we know."""
    if verb in _IRREGULAR or verb in PAST | _SAME:
        return _IRREGULAR.get(verb, verb)
    if verb.endswith("ed"):
        return verb
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    if re.search(r"(?:ch|sh|x|zz|ss)es$", verb):
        return verb[:-2]
    return verb[:-1] if re.search(r"[^s]s$", verb) else ""


def _spanish(fact: str, name: str) -> str:
    if found := re.fullmatch(rf"(El|La|Los|Las)\s+(.{{2,60}}?)\s+de\s+{name}\b(.*)", fact, re.S):
        whose = "tus" if found[1].endswith("s") else "tu"
        return f"{whose} {found[2]}{_swapped(found[3], _ES_INSIDE)}"
    if found := re.fullmatch(rf"A\s+{name}\s+({_ES_ADVERBS})le\s+(.+)", fact, re.S):
        return f"{found[1]}te {_swapped(found[2], _ES_INSIDE)}"
    found = re.fullmatch(rf"{name}\s+({_ES_ADVERBS})(se\s+)?(\w+)\b(.*)", fact, re.S)
    verb = _segunda(found[3]) if found else ""
    if not verb:
        return ""
    return f"{found[1]}{'te ' if found[2] else ''}{verb}{_swapped(found[4], _ES_INSIDE)}"


def _segunda(verb: str) -> str:
    """vive -> vives, compró -> compraste; "" for what is no Spanish verb we know."""
    if verb in _ES_IRREGULAR:
        return _ES_IRREGULAR[verb]
    if verb.endswith("ió"):
        return verb[:-1].removesuffix("i") + "iste"
    if verb.endswith("ó"):
        return verb[:-1] + "aste"
    return verb + "s" if verb.endswith(("a", "e", "á")) else ""


def _swapped(rest: str, pairs: list[tuple[str, str]]) -> str:
    for word, other in pairs:
        rest = re.sub(rf"\b{word}\b", other, rest)
    return rest
