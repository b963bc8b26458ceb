"""Make text from people and programs storable, comparable and countable."""

import hashlib
import re
import threading
import tomllib
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

import snowballstemmer

MAX_LENGTH = 32768
LISTS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


def listed(section: str, name: str) -> frozenset[str]:
    return frozenset(LISTS[section][name].split())


def pattern(name: str) -> re.Pattern:
    return re.compile(LISTS["patterns"][name].replace("\n", ""))


STOP_WORDS = {language: listed("stop_words", language) for language in ("en", "es")}
_SHARED = (STOP_WORDS["en"] & STOP_WORDS["es"]) | listed("telltale", "shared")
TELLTALE = {
    language: (stops - _SHARED) | listed("telltale", language)
    for language, stops in STOP_WORDS.items()
}
TELLTALE[""] = listed("telltale", "other") - STOP_WORDS["es"] - STOP_WORDS["en"]
BEFORE_NOUN = listed("topics", "before_noun")
VAGUE = listed("topics", "vague")
# The point behind these ends no sentence.
TITLES = ("Dr", "Dra", "Sr", "Sra", "Srta", "Mr", "Mrs", "Ms", "St", "Ing", "Lic")


def _class_of(category_prefix: str, *spans: tuple[int, int]) -> str:
    """Return the code points of these spans in the category, for a regex character class."""
    codes = [c for low, high in spans for c in range(low, high)]
    return "".join(
        chr(c) for c in codes if unicodedata.category(chr(c)).startswith(category_prefix)
    )


_MARKS = _class_of("M", (0x300, 0x3100), (0xA800, 0xAC00), (0xFE20, 0xFE30))
# One character is one word in scripts that write without spaces.
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# Postgres refuses NUL and lone surrogates; the other controls break terminals, JSON logs and XML.
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
# What most text here is made of: Latin-1, which is in NFC and has no marks.
_PLAIN = re.compile("[\t\n -~\xa0-\xff]*")
_LINE_ENDS = re.compile("\r\n?|\x85|\u2028|\u2029")
# Canonical ordering is quadratic in a run of marks (zalgo): the stream-safe form of UAX 15 breaks
# a run after 30 with an invisible joiner.
_STACKED = f"[{_MARKS}]".replace("\u034f", "")
_LONG_MARKS = re.compile(f"({_STACKED}{{30}})(?={_STACKED})")
_ACCENTS = re.compile("[\u0300-\u036f]")
_SPACES = re.compile(r"\s+")
_LIST_MARKS = re.compile(r"(?:(?:#{1,6}|[-*+•]|>(?!\s*\d))(?:\s+|$))+")
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_QUOTES = re.compile("[\"“”„«»‘`´]|'(?!\\w)|(?<!\\w)'|(?<=\\s)-(?=\\s)")
# Between two word characters a point is part of the word ("3.5", "node.js"); elsewhere it is not.
_STOPS = re.compile(r"[.,;:!?¡¿…()\[\]{}]+(?!\w)|(?<!\w)[.,;:!?¡¿…()\[\]{}]+")
_WORD = re.compile(
    f"[{_IDEOGRAPHS}]|(?:(?![{_IDEOGRAPHS}])[^\\W_])(?:(?![{_IDEOGRAPHS}])[^\\W_]|[{_MARKS}]|['’](?=[^\\W_]))*"
)
_ENDING = {
    "es": re.compile(r"\w(?:ción|ciones|dad|mente|ando|iendo)$|[ñáíóú]"),
    "en": re.compile(r"\w\w(?:ing|tion|ness|n't|ly)$"),
}


def clean(text: str, *, limit: int | None = MAX_LENGTH) -> str:
    """Return the text as it may be stored: NFC, no controls, at most `limit` characters."""
    if (text.isascii() and text.isprintable()) or _PLAIN.fullmatch(text):
        return text[:limit]
    text = _UNSTORABLE.sub("", _LINE_ENDS.sub("\n", text[:limit]))
    return _break_marks(unicodedata.normalize("NFC", _break_marks(text)))[:limit]


def _break_marks(text: str) -> str:
    return _LONG_MARKS.sub("\\1\u034f", text)


def one_line(text: str) -> str:
    """Return one line, without the marks of a heading, a list item or a quote."""
    line = _SPACES.sub(" ", clean(text, limit=None)).strip()
    return _LIST_MARKS.sub("", line, count=1) if _LIST_MARKS.match(line) else line


def fold(text: str) -> str:
    """Return the text in lower case without accents: "Árbol" becomes "arbol"."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFD", clean(text, limit=None).lower())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart))


def as_sentence(text: str) -> str:
    """Return the words on one line, ended as a sentence ends."""
    line = one_line(text)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def loose_pattern(name: str) -> str:
    """Return a regular expression for the words with accents or without them."""
    accented = "aáàâäã cç eéèêë iíìîï nñ oóòôöõ uúùûü".split()
    forms = {letters[0]: f"[{letters}]" for letters in accented}
    return "".join(forms.get(letter, re.escape(letter)) for letter in fold(name))


def normalise(text: str) -> str:
    """Return the same form for texts that say the same; never empty for non-empty text."""
    wide = unicodedata.normalize("NFKC", clean(text, limit=None)).casefold().replace("’", "'")
    bare = _QUOTES.sub(" ", _DASHES.sub("-", _IGNORABLE.sub("", wide)))
    return _SPACES.sub(" ", _STOPS.sub(" ", bare)).strip() or wide.strip() or ascii(text)[1:-1]


def said_key(text: str) -> str:
    """Return a digest that is the same for texts that say the same."""
    return hashlib.sha256(normalise(text).encode("utf-8")).hexdigest()


def words(text: str) -> list[str]:
    """Return the lower-case words of any script; "don't" is one, "node.js" two."""
    return [word.replace("’", "'") for word in _WORD.findall(clean(text, limit=None).lower())]


def folded_words(text: str) -> list[str]:
    return words(fold(text))


_stemmers = threading.local()  # a stemmer keeps its state in itself


@lru_cache(maxsize=65536)
def stem(word: str, language: str) -> str:
    """Return the word's stem; the word itself in other languages than English and Spanish."""
    name = {"en": "english", "es": "spanish"}.get(language)
    if not name:
        return word
    if not hasattr(_stemmers, name):
        setattr(_stemmers, name, snowballstemmer.stemmer(name))
    return getattr(_stemmers, name).stemWord(word)


def stems(text: str) -> set[str]:
    """Stems of the words that carry meaning, the same whichever language the text turns out to be.

    Through both stemmers: short texts are too short to tell their language reliably.
    """
    return {root for word in words(text) if (root := _root(word))}


@lru_cache(maxsize=65536)
def _root(word: str) -> str:
    """Return the word's root; empty for a stop word."""
    if any(word in stop for stop in STOP_WORDS.values()):
        return ""
    return stem(stem(fold(word), "en"), "es")


def detect_language(text: str) -> str:
    """Return en or es by common words and endings; empty when neither is likely."""
    return _language(text[:2000])


@lru_cache(maxsize=256)
def _language(text: str) -> str:
    tokens = words(text)[:200]
    scores = {
        lang: float(sum(w in vocabulary for w in tokens)) for lang, vocabulary in TELLTALE.items()
    }
    for lang, ending in _ENDING.items():
        scores[lang] += 0.4 * sum(bool(ending.search(w)) for w in tokens)
    scores["es"] += 2 * any(char in text for char in "¿¡")
    best = max(("en", "es"), key=lambda lang: scores[lang])
    other = max(score for lang, score in scores.items() if lang != best)
    return best if scores[best] > other else ""


def jaccard(a: str | Collection[str], b: str | Collection[str]) -> float:
    """Return shared words over all words, 0..1; 0 for two empty texts."""
    left, right = (set(words(x)) if isinstance(x, str) else set(x) for x in (a, b))
    return len(left & right) / len(left | right) if left | right else 0.0


def short(text: str, n: int) -> str:
    """Return one line of at most n characters, cut between words where that loses little."""
    line = _SPACES.sub(" ", text).strip()
    if len(line) <= n:
        return line
    cut = line[: max(n - 1, 0)]
    head = cut.rsplit(" ", 1)[0] if line[len(cut) : len(cut) + 1] != " " else cut
    return ((head if len(head) > n * 0.6 else cut).rstrip(" ,;:.-") + "…")[:n]


def token_estimate(text: str) -> int:
    """Estimate the tokens: four bytes each, which also fits accents, Cyrillic and CJK."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4
