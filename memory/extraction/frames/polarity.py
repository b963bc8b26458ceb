"""Whether a clause says that something is so, is not so, or is so no longer. Pure.

What cannot be told for certain is `unclear`: nobody may then read a positive statement out of it.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_ENDING_ACCENT = re.compile(r"[éóí](?!\w)", re.IGNORECASE)
_ACCENTS = re.compile("[\u0300-\u036f]")
_MARKUP = re.compile(r"\*\*|__|`|^\s*(?:[-*•>]|#{1,6}|\d{1,2}[.)])\s+", re.MULTILINE)
_SPACES = re.compile(r"[^\S\n]+")

# How people type it, and what it stands for.
_SPELLINGS = tuple(
    (re.compile(rf"(?i)\b(?:{pattern})(?!\w)"), full)
    for pattern, full in (
        (r"can(?:no|'?)t", "can not"),
        (r"won'?t", "will not"),
        (r"ain'?t", "is not"),
        (r"(do|does|did|is|are|was|were|have|has|had|would|could|should)n'?t", r"\1 not"),
        (r"i'?m", "I am"),
        (r"i'?ve", "I have"),
        (r"(i|he|she|we|they|you)'ll", r"\1 will"),
        (r"(i|he|she|we|they|you)'d", r"\1 would"),
        (r"(he|she)s(?= (?:got|\d|an?|in|from|the|called)\b)", r"\1 is"),
        (r"(he|she|it|that|who)'s(?= (?:got|been|\w+ed)\b)", r"\1 has"),
        (r"(he|she|it|that|there|here|who)'s", r"\1 is"),
        (r"(\w+)'s(?= (?:called|named|an?|the|in|at|from|not|no|allergic|\d+)\b)", r"\1 is"),
        (r"(\w+)'s(?= (?:really )?into\b)", r"\1 is"),
        (r"(we|they|you)'re", r"\1 are"),
        (r"(they|you)re", r"\1 are"),
        (r"(we|they|you)'ve", r"\1 have"),
        (r"anymore|any more|any longer", "anymore"),
        (r"gonna", "going to"),
        (r"wanna", "want to"),
        (r"q(?= \w)|k(?= [a-z])", "que"),
        (r"tmb|tb", "tambien"),
    )
)

# Sayings whose "not" does not negate, or which have a verb of their own.
_IDIOMS = tuple(
    (re.compile(rf"(?i)\b(?:{pattern})\b"), instead)
    for pattern, instead in (
        (r"can not (?:stand|bear|stomach|take)|do(?:es)? not care for", "hates"),
        (r"no (?:l[oa]s? )?(?:soporto|aguanto|trago)(?: a(?! los)| ver)?", "odio"),
        (r"no (?:l[oa]s? )?(?:soporta|aguanta|traga)(?: a(?! los)| ver)?", "odia"),
        (r"no pued[oe] ni ver(?: a)?|no puedo con", "odio"),
        (r"can not (?:live|do|survive) without", "loves"),
        (r"no pued[oe] (?:vivir|estar) sin", "adora"),
        (r"not (?:only|just)|no s[oó]lo", ""),
        (r"no more than|no less than|no m[aá]s de|no menos de", "about"),
        (r"why not|no doubt|no wonder|no problem|no matter", ""),
        (r"no one", "nobody"),
    )
)
# Neither yes nor no: nothing follows from these.
_SHRUGS = re.compile(
    r"(?i)\b(?:do(?:es)? not (?:mind|know|think|believe|remember|care|feel like|want|need|have to)"
    r"|not (?:sure|certain|yet|really sure|bad)|no s[eé] (?!\w+r\b)|no creo|no me importa"
    r"|no recuerdo|no me acuerdo|aun no|todavia no|no quier|no hace falta|no tengo que"
    r"|(?:will|would|should|could|did) not|no voy a|no va a|no deber|dejo de \w+r\b)"
)
_STARTING = re.compile(r"^\W*(?:(?:no|nope|nah|nel)\s*[,.:;!—–]+\s*|(?:nope|nah|nel)\s+)+", re.I)

_AUX = r"(?:am|is|are|be|was|were|have|has|had)"
# (pattern, what is left of it): "is not allergic anymore" leaves "is allergic".
_ENDED = tuple(
    (re.compile(rf"(?i){pattern}"), left)
    for pattern, left in (
        (r"\b(?:do|does|can) not (.*?)\s*\banymore\b", r"does \1"),
        (rf"\b({_AUX}) (?:not|no) (.*?)\s*\banymore\b", r"\1 \2"),
        (r"\bnot (.*?)\s*\banymore\b", r"\1"),
        (r"\bnever (.*?)\s*\b(?:again|anymore)\b", r"\1"),
        (r"\bno longer\b\s*(?:be\b)?", " "),
        (r"\banymore\b", " "),
        (r"(?<!am )(?<!is )(?<!are )(?<!be )(?<!get )(?<!got )(?<!was )\bused to be\b", "is"),
        (r"(?<!am )(?<!is )(?<!are )(?<!be )(?<!get )(?<!got )(?<!was )\bused to\b", "does"),
        (r"\b(?:(?:have|has|had|am|is|are) )?(?:stopped|quit|quitted|given up|gave up|done with"
         r"|finished|retired from) (?=\w+ing\b)", "is "),
        (r"\b(?:stopped|quit|gave up|given up) (?=meat|sugar|dairy|coffee|gluten)", "eats "),
        (r"\bya no (.*?)\bm[aá]s\s*$", r"\1"),
        (r"\bya no\b(?! (?:solo|s[oó]lo)\b)", " "),
        (r"\b(?:ya )?(?:he |ha |hemos |han |habia )?(?:dej[eéó]|dejamos|dejaron|dejado|dejar"
         r"|par[eéoó]) de (?=(?:\w+[aei]r)(?:se|me)?\b)", "does "),
        (r"\b(?:solia|solian|soliamos|solias) (?=\w+r)", "does "),
        (r"\bno (.*?)\bm[aá]s\s*[.!]*$", r"\1"),
        (r"\bnunca m[aá]s\b", " "),
        (r"^\W*(?:yo )?antes (?!de\b|que\b)(?:yo )?", " "),
    )
)  # fmt: skip
_LONG_AGO = re.compile(
    r"(?i)\b(?:did (?=use|live|work|like|love|have)|previously|formerly|in the past|back then"
    r"|back in the day|antes(?=\s*[.!]*$))"
)
_NEGATED = tuple(
    (re.compile(rf"(?i){pattern}"), left)
    for pattern, left in (
        (r"\b(?:do|does|can) not\b", "does"),
        (rf"\b({_AUX}) not\b", r"\1"),
        (r"\b(has|have|had|with|got|got|eats?|drinks?) no\b", r"\1"),
        (r"\bnever\b", " "),
        (r"\b(?:nunca|jamas)\b", " "),
        (r"\btampoco(?: no)?\b", " "),
        (r"\bno(?= (?:(?:me|te|se|le|les|nos|lo|la|los|las) ){0,2}[a-zñ]+)", " "),
    )
)
# In Spanish these repeat the "no" before the verb.
_REPEATED = re.compile(r"(?i)\b(?:ningun[oa]?s?|nada de|nada|nadie|nunca|tampoco|ni|any|at all)\b")
_SPANISH_NO = re.compile(r"(?i)(?<!\w)(?:no|nunca|jamas|tampoco)\b")
_LEFT = re.compile(
    r"(?i)(?<!\w)(?:not|no|never|nor|neither|none|nobody|nothing|nowhere|without|nunca|jamas|nadie"
    r"|nada|ningun[oa]?s?|tampoco|ni|sin|hardly|barely|apenas)\b"
)


@dataclass(frozen=True)
class Stance:
    """How a clause stands to what it tells, and the clause as if it simply were so."""

    bare: str
    negated: bool = False
    ended: bool = False
    unclear: bool = False
    # What stands before the negation: what is told before it is not denied by it.
    before: str = ""


def plain(text: str) -> str:
    """The text without markup and accents, spelled out; an accent that ends a verb stays."""
    line = unicodedata.normalize("NFC", text).replace("’", "'").replace("`", "'")
    line = _MARKUP.sub("", line)
    kept = _ENDING_ACCENT.sub(lambda m: {"é": "\ue000", "ó": "\ue001", "í": "\ue002"}.get(
        m.group().lower(), m.group()), line)  # fmt: skip
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", kept))
    line = bare.replace("\ue000", "é").replace("\ue001", "ó").replace("\ue002", "í")
    for pattern, full in _SPELLINGS:
        line = pattern.sub(full, line)
    return _SPACES.sub(" ", line).strip()


@lru_cache(maxsize=4096)
def read(clause: str) -> Stance:
    """Find out how a clause (as `plain` gives it) stands, and take its negation out."""
    line = _STARTING.sub("", clause)
    for pattern, instead in _IDIOMS:
        line = pattern.sub(instead, line)
    if _SHRUGS.search(line):
        return Stance(line, negated=True, unclear=True)
    doubled = bool(_SPANISH_NO.search(line))
    left, ended = _strip(line, _ENDED)
    if ended is None and _LONG_AGO.search(line):
        left, ended = _LONG_AGO.sub(" ", line), ""
    left, negated = (left, None) if ended is not None else _strip(left, _NEGATED)
    if doubled:
        left = _REPEATED.sub(" ", left)
    left = _SPACES.sub(" ", left).strip()
    unclear = bool(_LEFT.search(left))
    before = (ended or "") + (negated or "")
    return Stance(left, negated is not None, ended is not None, unclear, before.strip())


def is_negative(text: str) -> bool:
    """Whether the text denies something or says that it is over."""
    stance = read(plain(text))
    return stance.negated or stance.ended or stance.unclear


def _strip(line: str, patterns: Iterable[tuple[re.Pattern, str]]) -> tuple[str, str | None]:
    """Without the first pattern that is found, and what stood before it; None when none is."""
    for pattern, left in patterns:
        if found := pattern.search(line):
            return pattern.sub(left, line, count=1), line[: found.start()]
    return line, None
