"""A statement taken apart into clauses, and whom each of them is about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory.extraction.frames.phrases import begins, holds, phrase
from memory.extraction.frames.readers import BEINGS
from memory.extraction.frames.vocabulary import canonical, classes, terms, tokens
from memory.text.normalise import fold

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


def is_somebody(whose: str, found: frozenset[str]) -> bool:
    """Whether a person or a pet is meant: only they live somewhere, like things, have a job."""
    if not found:
        return not holds("points_at_nothing", whose)
    if whose == whose.lower():
        named = any(classes(term) & BEINGS for term in found)
        return named or (len(found) == 1 and not begins("definite", whose))
    strange = [term for term in found if not _is_name(term, whose) and not classes(term) & _PEOPLE]
    return len(strange) <= (1 if any(classes(term) & BEINGS for term in found) else 0)


def is_named(whose: str, found: frozenset[str]) -> bool:
    """Whether only beings and names stand there, no thing of theirs."""
    if whose == whose.lower() and not holds("possessive", whose):
        return True
    return all(classes(term) & _PEOPLE or _is_name(term, whose) for term in found)


def _is_name(term: str, whose: str) -> bool:
    """Written like a name, and not only because the line begins there."""
    found = re.search(rf"(?<!\w){re.escape(term[:3])}\w*", fold(whose))
    start = found.start() if found else 0
    return whose[start : start + 1].isupper()
