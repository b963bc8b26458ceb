"""Statements cut into clauses, and whether a clause affirms, denies or ends what it tells."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from memory.extraction.frames.readers import BEINGS
from memory.extraction.frames.vocabulary import (
    begins,
    canonical,
    classes,
    holds,
    phrase,
    terms,
    tokens,
)
from memory.text.normalise import fold

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
        (
            r"(\w+)'s(?= (?:vegetarian|vegan|coeliac|celiac|diabetic|pregnant|married|engaged"
            r"|divorced|single|retired|based|living|working|moving|getting|going)\b)",
            r"\1 is",
        ),
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
def read_stance(clause: str) -> Stance:
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
    stance = read_stance(plain(text))
    return stance.negated or stance.ended or stance.unclear


def _strip(line: str, patterns: Iterable[tuple[re.Pattern, str]]) -> tuple[str, str | None]:
    """Without the first pattern that is found, and what stood before it; None when none is."""
    for pattern, left in patterns:
        if found := pattern.search(line):
            return pattern.sub(left, line, count=1), line[: found.start()]
    return line, None


_PEOPLE = BEINGS | {"job", "number"}
# Words before the verb that do not say whose it is.
_NOT_WHOSE = frozenset(
    """a ahi ahora al all also always am an and aqui are at ayer be because been being both de del
    desde did do does el ella ellas ellos es esta estan estar estoy ever favor for get
    getting got ha had han has have he hemos her here herself himself his hoy i in is it its
    just la las le les little lo los me mi mine mis my myself new nos nosotras nosotros now
    nuestra nuestras nuestro nuestros nueva nuevo o of old on one only our own please por
    porque que s se ser she si siempre since so solo somos soy started starting su sus te
    that the their there they this to toda todas todo todos tu un una unas unos us user
    usted usuaria usuario was we were which who with y yes yo you your""".split()
)
# With one of these before it the verb is not what the clause tells.
_OTHER_VERBS = frozenset(
    """ask ate beber became bought cambie came can come comer conoci conocio cuesta da dar deje
    dejo doing doy drank drink eat encanta enjoy enjoys exportan extrana extrano feel feels
    felt find forget found fui fuimos gave give go going gusta gustan hacer hate hates
    having hice hizo ir keep keeps knew know knows learned leave left like likes live lived
    lives lleva llevo look looked looking looks lost love loves made make meet met miss
    misses no not nunca odia odio paid pay play played plays prefer prefers prefiere
    prefiero puede puedo put queda quede quedo quit quitting ran read reading recomiendo
    recommend remember run sale salgo saw see send sent sigo sigue sin sold sounds spend
    spent stop stopped stops studies study suggest take than toca took tuve tuvo used using
    va vamos veo ver vi viajar vio visit visited voy vuelve vuelvo watch watched went
    without won work worked works write wrote""".split()
)


@dataclass(frozen=True)
class Clause:
    """A clause and, where it only goes on, whom the words before it were about."""

    text: str
    # Words that name whom a "she" or a bare verb means; None when that cannot be told.
    about: str | None = ""


def clauses(line: str) -> Iterator[Clause]:
    """Part a line, and find whom each part is about."""
    before = ""
    about: str | None = ""
    for text in split(line):
        goes_on = bool(before) and begins("begins_third", text)
        # Whoever could not be told stays so: "my brother has a girlfriend, she's Ximena and is …".
        lost = goes_on and about is None
        about = None if lost else _about(before) if goes_on else ""
        yield Clause(text, about)
        before = text


def split(line: str) -> Iterator[str]:
    """Part a line where another verb begins; "my boss, Ana, is ill" stays whole."""
    for sentence in phrase("sentence").split(line):
        parts = phrase("joint").split(sentence)
        yield from _whole(part.strip(" .,!") for part in parts if part)


def _whole(parts: Iterator[str]) -> Iterator[str]:
    kept = ""
    for part in parts:
        if not part:
            continue
        kept = f"{kept}, {part}" if kept else part
        if holds("has_verb", kept):
            yield kept
            kept = ""
    if kept:
        yield kept


def _about(before: str) -> str | None:
    """Whom the next clause goes on about, by the clause before it."""
    told = phrase("before_verb").match(before)
    subject, rest = (told["s"], told["rest"]) if told else ("", before)
    others = [term for term in terms(rest) if classes(term) & BEINGS]
    first = told and phrase("first_verb").fullmatch(told["verb"])
    if not told or first or holds("myself", subject):
        return others[0] if len(others) == 1 else None
    return subject if not others else None


def is_real(whose: str) -> bool:
    """Whether what stands before the verb leaves it a plain statement: no wish, no hearsay."""
    words = re.findall(r"[\w'-]+", fold(whose))
    if holds("unreal", whose) or holds("aside_relative", whose):
        return False
    return not any(word in _OTHER_VERBS for word in words)


def spoken_of(whose: str) -> str | None:
    """The words that name whom the verb is about; None when a "she" cannot be told.

    "Every weekend, he" is about him, "Teddy and I" about the speaker; "my grandma knits, she"
    names whom it means.
    """
    found = list(phrase("subject").finditer(whose))
    if not found or (len(found) == 1 and not whose[: found[0].start()].strip(" ,")):
        if not begins("begins_first", whose):
            return whose
        more = [word for word in tokens(whose) if word not in _NOT_WHOSE]
        # "I am Ana, from sales, based" tells of the speaker; "I swell up like" does not.
        return "" if not more or "," in whose else None
    before, last = whose[: found[-1].start()], found[-1].group().lower()
    if last in {"i", "yo", "we"}:
        return ""
    named = [word for word in re.findall(r"[\w'-]+", before) if _names_somebody(word)]
    return named[0] if len(named) == 1 else None


def holder(whose: str, subject: str) -> frozenset[str] | None:
    """Who it is about when not the subject; None when too many words stand there to tell."""
    own = set(tokens(subject))
    found = frozenset(
        meaning
        for word in tokens(whose)
        if word not in _NOT_WHOSE and word not in own and (meaning := canonical(word))
    )
    return found if len(found) <= 3 else None


def _names_somebody(word: str) -> bool:
    if any(classes(term) & BEINGS for term in terms(word)):
        return True
    return word[0].isupper() and fold(word) not in _NOT_WHOSE


def is_somebody(whose: str, meanings: frozenset[str]) -> bool:
    """Whether a person or a pet is meant: only they live somewhere, like things, have a job."""
    if not meanings:
        return not holds("points_at_nothing", whose)
    if whose == whose.lower():
        named = any(classes(term) & BEINGS for term in meanings)
        return named or (len(meanings) == 1 and not begins("definite", whose))
    strange = [
        term for term in meanings if not _is_name(term, whose) and not classes(term) & _PEOPLE
    ]
    return len(strange) <= (1 if any(classes(term) & BEINGS for term in meanings) else 0)


def is_named(whose: str, meanings: frozenset[str]) -> bool:
    """Whether only beings and names stand there, no thing of theirs."""
    if whose == whose.lower() and not holds("possessive", whose):
        return True
    return all(classes(term) & _PEOPLE or _is_name(term, whose) for term in meanings)


def _is_name(term: str, whose: str) -> bool:
    """Written like a name, and not only because the line begins there."""
    found = re.search(rf"(?<!\w){re.escape(term[:3])}\w*", fold(whose))
    start = found.start() if found else 0
    return whose[start : start + 1].isupper()
