"""When two claims cannot both be true. Pure: claims in, a verdict out."""

import re
from dataclasses import dataclass
from functools import lru_cache

import re2

from memory.text import STOP_WORDS, fold, jaccard, stem, words

NEGATIONS = {
    "not", "no", "never", "nunca", "jamas", "doesn't", "don't", "isn't", "didn't", "won't", "can't",
    "dislikes", "dislike", "hates", "hate", "odia", "odio", "tampoco", "stopped", "dejo", "deje",
    "without", "sin",
}  # fmt: skip
# Words that say when or how surely, not what.
SHADES = {"now", "ahora", "currently", "actualmente", "again", "really", "already", "ya", "longer",
          "anymore", "mas", "also", "tambien", "still", "todavia", "aun", "always", "siempre",
          "does", "do", "did"}  # fmt: skip
OPPOSED = {"hates": "likes", "hate": "like", "odia": "gusta", "odio": "gusta",
           "dislikes": "likes", "dislike": "like", "loves": "likes", "love": "like",
           "encanta": "gusta"}  # fmt: skip

# attribute -> patterns over folded text; `s` is whose, `x` what of them, `v` the value.
# Each is a thing one has one of at a time, so two different values exclude each other.
_SINGLE = {
    "home": (
        r"^(?P<s>.*?)\b(?:lives?|(?:has |have )?moved|relocated) (?:now )?(?:in|to) (?P<v>[^,;]+)",
        r"^(?P<s>.*?)\b(?:vive|vivo|se mudo|me mude|se ha mudado) (?:ahora )?(?:en|a) "
        r"(?P<v>[^,;]+)",
    ),
    "job": (
        r"^(?P<s>.*?)\bworks? (?:now )?(?:at|for) (?P<v>[^,;]+)",
        r"^(?P<s>.*?)\b(?:trabaja|trabajo) (?:ahora )?(?:en|para) (?P<v>[^,;]+)",
    ),
    "name": (
        r"^(?P<s>.*?)\b(?:is called|name is) (?P<v>[^,;]+)",
        r"^(?P<s>.*?)\bse llama (?P<v>[^,;]+)",
    ),
    "of": (
        r"^the (?P<x>[\w .-]{2,40}?) (?:of|for) (?P<s>.{2,60}?) (?:is|are|was) (?:now )?"
        r"(?P<v>[^,;]+)",
        r"^(?P<s>[\w .-]{1,60}?)'s (?P<x>[\w .-]{2,40}?) (?:is|are|was) (?:now )?(?P<v>[^,;]+)",
        r"^(?:el|la|los|las) (?P<x>[\w .-]{2,40}?) (?:de|del|para) (?P<s>.{2,60}?) "
        r"(?:es|son|era|esta) (?:ahora )?(?P<v>[^,;]+)",
        r"^(?P<s>)(?:the|my|our) (?P<x>[\w .-]{2,40}?) (?:is|are) (?:now )?(?P<v>[^,;]+)",
        r"^(?P<s>)(?:el|la|mi|nuestro|nuestra) (?P<x>[\w .-]{2,40}?) (?:es|son|esta) "
        r"(?:ahora )?(?P<v>[^,;]+)",
    ),
}
SINGLE = [(name, re2.compile(p)) for name, patterns in _SINGLE.items() for p in patterns]
_WORD = re.compile(r"[^\W\d_]+")
_DAYS = ("monday lunes", "tuesday martes", "wednesday miercoles", "thursday jueves",
         "friday viernes", "saturday sabado", "sunday domingo")  # fmt: skip
_MONTHS = ("january enero", "february febrero", "march marzo", "april abril", "may mayo",
           "june junio", "july julio", "august agosto", "september septiembre", "october octubre",
           "november noviembre", "december diciembre")  # fmt: skip
_SEASONS = ("spring primavera", "summer verano", "autumn otono", "winter invierno")
_COLOURS = ("red rojo roja", "blue azul", "green verde", "black negro negra", "white blanco blanca",
            "yellow amarillo amarilla", "grey gris", "brown marron")  # fmt: skip
_EXCLUSIVE = (_DAYS, _MONTHS, _SEASONS, _COLOURS)
_ONE_WORD = {word: pair.split()[0] for row in _EXCLUSIVE for pair in row for word in pair.split()}
_PAIRED = (
    "left right", "open closed", "morning evening", "morning afternoon", "before after",
    "son daughter", "brother sister", "mother father", "husband wife", "buy sell", "bought sold",
    "won lost", "first last", "early late", "more less", "hot cold", "up down", "on off",
    "enabled disabled", "allowed forbidden", "started stopped", "north south", "east west",
    "izquierda derecha", "abierto cerrado", "abierta cerrada", "manana tarde", "manana noche",
    "antes despues", "hijo hija", "hermano hermana", "madre padre", "compro vendio",
    "gano perdio", "primero ultimo", "primera ultima", "temprano tarde", "mas menos",
    "caliente frio", "arriba abajo", "activado desactivado", "empezo dejo", "norte sur",
    "este oeste", "big small", "grande pequeno", "older younger", "mayor menor",
)  # fmt: skip
_OPPOSITES = {frozenset(pair.split()) for pair in _PAIRED} | {
    frozenset((a.split()[0], b.split()[0])) for row in _EXCLUSIVE for a in row for b in row
}
_NUMBER = re.compile(r"\d[\d.:,/-]*")


@dataclass(frozen=True)
class Relation:
    """One thing of one subject, and its value: ("adrian", "home", "lisbon")."""

    subject: str
    attribute: str
    value: frozenset[str]


@lru_cache(maxsize=4096)
def relation(text: str, subject: str = "") -> Relation | None:
    """The single-valued relation a claim states, if it states one."""
    flat = " ".join(fold(text).strip(" .!?").split())[:300]
    for attribute, pattern in SINGLE:
        match = pattern.match(flat)
        if not match:
            continue
        parts = match.groupdict()
        whose = fold(parts["s"] or "").strip(" ,") or fold(subject)
        what = (
            f"{attribute}:{' '.join(sorted(_stems(parts['x'])))}" if parts.get("x") else attribute
        )
        value = frozenset(_stems(parts["v"]) - SHADES)
        return Relation(_bare(whose), what, value) if value else None
    return None


def contradict(a: str, b: str, *, subject: str = "") -> str:
    """Why both cannot be true ("value", "negation", "number"); empty when they can."""
    if fold(a) == fold(b):
        return ""
    left, right = relation(a, subject), relation(b, subject)
    if left and right and left.attribute == right.attribute and _same(left.subject, right.subject):
        shared = jaccard(left.value, right.value)
        return "value" if shared < 0.5 and not _contained(left.value, right.value) else ""
    if _negated(a) != _negated(b) and jaccard(_gist(a), _gist(b)) >= 0.75:
        return "negation"
    numbers = _numbers(a), _numbers(b)
    if (
        all(numbers)
        and not numbers[0] & numbers[1]
        and _wordy(a)
        and jaccard(_wordy(a), _wordy(b)) >= 0.85
    ):
        return "number"
    return ""


def differ(a: str, b: str, *, subject: str = "") -> str:
    """Why two like sentences are not one ("number", "name", "opposite" …); empty when they are.

    Stricter than a contradiction: "flies on Monday" and "flies on Tuesday" may both be true, but
    one cannot stand for the other.
    """
    if why := contradict(a, b, subject=subject):
        return why
    if _negated(a) != _negated(b):
        return "negation"
    if _numbers(a) != _numbers(b):
        return "number"
    left, right = _names(a), _names(b)
    # "Ana Ruiz" and "Ana" are one person told twice.
    if not (left <= right or right <= left):
        return "name"
    return "opposite" if _opposite(_canonical(a), _canonical(b)) else ""


def bucket(text: str, subject: str = "") -> str:
    """Claims that could contradict each other share this key, or its gist."""
    found = relation(text, subject)
    return f"{found.subject}|{found.attribute}" if found else ""


def _same(one: str, other: str) -> bool:
    return one == other or not one or not other


def _contained(one: frozenset[str], other: frozenset[str]) -> bool:
    # "Lisbon" and "Lisbon, Portugal" are one place told twice.
    return one <= other or other <= one


def _bare(subject: str) -> str:
    return " ".join(word for word in words(subject) if word not in {"user", "the", "el", "la"})


@lru_cache(maxsize=4096)
def _negated(text: str) -> bool:
    return bool(NEGATIONS & set(words(fold(text)))) or "no longer" in fold(text)


def _gist(text: str) -> set[str]:
    """The stems that carry the claim, whichever way it points."""
    said = (OPPOSED.get(word, word) for word in words(fold(text)))
    return {
        stem(word, "en")
        for word in said
        if word not in NEGATIONS and word not in SHADES and word not in _FOLDED_STOPS
    }


def _names(text: str) -> set[str]:
    """Words that are written like names inside the sentence, and the days and months."""
    said = [word for word in _WORD.findall(text)[1:] if word[0].isupper()]
    return {_ONE_WORD.get(fold(word), fold(word)) for word in said}


def _canonical(text: str) -> set[str]:
    return {_ONE_WORD.get(word, word) for word in words(fold(text))}


def _opposite(one: set[str], other: set[str]) -> bool:
    return any(frozenset((a, b)) in _OPPOSITES for a in one - other for b in other - one)


def _numbers(text: str) -> set[str]:
    return {number.strip(".,:/-") for number in _NUMBER.findall(text)}


@lru_cache(maxsize=4096)
def _wordy(text: str) -> frozenset[str]:
    return frozenset(word for word in _gist(_NUMBER.sub(" ", text)) if not word.isdigit())


def _stems(text: str) -> set[str]:
    return {stem(word, "en") for word in words(fold(text)) if word not in _FOLDED_STOPS}


def _all_stop_words() -> set[str]:
    listed = STOP_WORDS.values() if isinstance(STOP_WORDS, dict) else [STOP_WORDS]
    return {fold(word) for some in listed for word in some}


# These are stop words to a search, but the very point of a claim.
_CARRYING = {"like", "need", "use", "used", "make", "take", "say", "go", "gusta"}
_FOLDED_STOPS = _all_stop_words() - NEGATIONS - _CARRYING
