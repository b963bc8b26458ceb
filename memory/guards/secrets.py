"""Secrets in a text: passwords, tokens, keys, cards, PINs; in code and in prose, en and es."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memory.guards import rulebook

_PLACEHOLDER = re.compile(
    r"[$%]?\{|\$[A-Z_]+$|<|\.{3}|x{4,}$|\*{3,}|your|redacted|example$|changeme|\(|process\.env|os\.",
    re.I,
)
_CASE_CHANGE = re.compile(r"[a-z](?=[A-Z])|[A-Z](?=[a-z])")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
_IN_URL = re.compile(r"(?:://|www\.)\S*$")
_HASH_BEFORE = re.compile(
    r"(?:commit|sha\d*|md5|hash|checksum|digest|revision|rev|etag|uuid|guid|id)\W*$", re.I
)
_ABOUT = re.compile(
    r"(?:ed|ing|able|ible|ory|ful|less|ary|ado|ada|ido|ida|oria|ante|ente|able|ible)$", re.I
)
_VIRTUE = re.compile(r"(?:[aei]r|ci[oó]n|dad|[ae]ncia|eza|o|ia)$", re.I)  # "la clave es practicar"
_WORDS = tomllib.loads(Path(__file__).with_name("secret_words.toml").read_text("utf-8"))
# "The password is required": said of a secret, not the secret.
_SAID_OF = frozenset(_WORDS["said_of"].split())
_SENTENCE_WORDS = frozenset(_WORDS["sentence_words"].split())
_DEVICE = re.compile(r"\b(?:imei|serial|iccid|serie)\b[^.\n]{0,20}$", re.I)
# The name of a program that keeps passwords is not one.
_MANAGER = re.compile(
    r"\b(?:password (?:manager|app|vault)|gestor de (?:contraseñas|claves))\b[^.\n]{0,20}$", re.I
)
FILE = Path(__file__).with_name("secrets.txt")
_MARKER = re.compile(rb"\[redacted:[a-z_]+\]")
_AFTER = ".!?)]}:”’»"


def _assigned(value: str, before: str) -> bool:
    """Accept right of an equals sign all but a placeholder, a plain word or a short number."""
    if _PLACEHOLDER.search(value) or value.startswith(("/", "http")):
        return False
    return bool(_UUID.search(value)) or _mixed(value) or (len(value) >= 16 and _entropy(value) > 3)


def _setting(value: str, before: str) -> bool:
    return value.lower() not in _SAID_OF and not _PLACEHOLDER.search(value)


def _code(value: str, before: str) -> bool:
    """Accept a quoted string in code or configuration that no person would have chosen."""
    digits, letters = (sum(map(test, value)) for test in (str.isdigit, str.isalpha))
    if _PLACEHOLDER.search(value) or "://" in value:
        return False
    runs = [run for run in re.split(r"[/.:_=~|+-]+", value) if len(run) >= 10]
    if digits < 2 or letters < 2:
        return any(_even(run) for run in runs)
    return any(_entropy(run) >= 2.8 and any(c.isdigit() for c in run) for run in runs)


def _word(value: str, before: str) -> bool:
    """Accept a plain word said to be the password, unless people say it *about* a password."""
    virtue = "clave" in before.lower() and _VIRTUE.search(value)
    return value.lower() not in _SAID_OF and not _ABOUT.search(value) and not virtue


def _phrase(value: str, before: str) -> bool:
    """Accept after "the key is" a word with digits or signs inside, or a long random one."""
    bare = value.strip("\"'“”‘’`()").lower()
    if _MANAGER.search(before):
        return False
    if len(bare) < 4 or bare in _SAID_OF or _PLACEHOLDER.search(value):
        return False
    long = len(bare) >= 16 and "/" not in bare and _entropy(bare) > 3.2
    return _mixed(value) or bool(_UUID.search(value)) or long


def _mixed(value: str) -> bool:
    """Tell whether it looks made up: digits or signs among letters, or odd capitals."""
    inner = value.strip("\"'“”‘’`().,!?¡¿*_-")
    digit = any(c.isdigit() for c in inner)
    letter = any(c.isalpha() for c in inner)
    sign = bool(re.search(r"[^\w'’.,/:-]", inner))
    camel = bool(re.search(r"[a-z][A-Z]", inner))
    return len(inner) >= 5 and (
        (digit and (letter or len(inner) >= 6)) or (sign and letter) or camel
    )


def _random(value: str, before: str) -> bool:
    """Accept a long, mixed token, too even to be words, a date, a path or a file."""
    if _IN_URL.search(before) or _HASH_BEFORE.search(before) or _UUID.fullmatch(value):
        return False
    if value.endswith("=") and _cased(value):
        return True
    runs = [run for run in re.split(r"[/.:_=~$%!+-]+", value) if len(run) >= 14]
    return any(_even(run) for run in runs)


def _cased(value: str) -> bool:
    return any(c.isupper() for c in value) and any(c.islower() for c in value)


def _even(run: str) -> bool:
    digits = sum(c.isdigit() for c in run)
    if digits == len(run):
        return False
    if not digits:  # words change case now and then, noise all the time
        return len(run) >= 16 and len(_CASE_CHANGE.findall(run)) > 0.2 * len(run)
    if _cased(run):
        return _entropy(run) >= 3.2
    return len(run) >= 20 and digits >= 3 and _entropy(run) >= 2.8


def _words(value: str, before: str) -> bool:
    """Accept twelve words or more without the little words that sentences need."""
    little = {"the", "and", "que", "los", "las", "con", "for", "with", "una", "del", "was", "are"}
    return not little & set(re.split(r"[ ,]+", value.lower()))


def _bare(value: str, before: str) -> bool:
    """Accept a seed phrase by itself: it has one of five lengths and is not a sentence."""
    words = value.split()
    return len(words) in {12, 15, 18, 21, 24} and not _SENTENCE_WORDS & set(words)


def _login(value: str, before: str) -> bool:
    """Accept behind a mail address what has letters and something else in it."""
    inner = value.strip("().!?-_")
    return any(c.isalpha() for c in inner) and any(not c.isalpha() for c in inner)


def _luhn(value: str, before: str) -> bool:
    if _DEVICE.search(before):
        return False
    digits = [int(c) for c in value if c.isdigit()]
    doubled = [d * 2 - 9 * (d > 4) for d in digits[-2::-2]]
    return 13 <= len(digits) <= 19 and (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


def _iban(value: str, before: str) -> bool:
    bare = value.replace(" ", "")
    return len(bare) >= 15 and int("".join(str(int(c, 36)) for c in bare[4:] + bare[:4])) % 97 == 1


def _curp(value: str, before: str) -> bool:
    """Check the last digit of a Mexican CURP, which follows from the other 17 characters."""
    alphabet = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
    total = sum(alphabet.index(c) * (18 - n) for n, c in enumerate(value[:17].upper()))
    return (10 - total % 10) % 10 == int(value[17])


def _dni(value: str, before: str) -> bool:
    """Check the letter of a Spanish DNI or NIE: the remainder of its number by 23."""
    bare = value.upper().replace(" ", "").replace("-", "")
    first = {"X": "0", "Y": "1", "Z": "2"}.get(bare[0], bare[0])
    return bare[-1] == "TRWAGMYFPDXBNJZSQVHLCKE"[int(first + bare[1:-1]) % 23]


def _entropy(value: str) -> float:
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)


CHECKS = {
    "any": lambda value, before: True,
    "value": lambda value, before: not _PLACEHOLDER.match(value),
    "assigned": _assigned,
    "phrase": _phrase,
    "mixed": lambda value, before: _mixed(value) and not _PLACEHOLDER.search(value),
    "setting": _setting,
    "code": _code,
    "word": _word,
    "sentence": lambda value, before: True,
    "words": _words,
    "bare": _bare,
    "login": _login,
    "curp": _curp,
    "dni": _dni,
    "digits": lambda value, before: 3 <= sum(c.isdigit() for c in value) <= 20,
    "luhn": _luhn,
    "iban": _iban,
    "random": _random,
}


@dataclass(frozen=True)
class Secret:
    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class SecretRule:
    kind: str
    check: Callable[[str, str], bool]
    pattern: object
    # The group that holds the secret itself: asking the pattern each time is slow.
    group: int


def find_secrets(text: str) -> list[Secret]:
    """Return every secret, in order, never overlapping; the first rule to match a place wins."""
    raw = text.encode("utf-8", "surrogatepass")
    left, places = _MARKER.sub(lambda m: b"<" * len(m.group()), raw), []
    matching = sieve()(left)
    for number, rule in enumerate(rules()):
        spans = list(_spans(rule, left)) if number in matching else []
        if spans:
            left = _blank_out(left, spans)
            matching = sieve()(left)
        places += [(start, end, rule.kind) for start, end in spans]
    return list(_in_characters(raw, sorted(places)))


def _blank_out(raw: bytes, spans: list[tuple[int, int]]) -> bytes:
    """Replace the spans by a character that no rule takes for a secret."""
    left = bytearray(raw)
    for start, end in spans:
        left[start:end] = b"<" * (end - start)
    return bytes(left)


def _spans(rule: SecretRule, raw: bytes) -> Iterator[tuple[int, int]]:
    for match in rule.pattern.finditer(raw):
        start, end = match.span(rule.group)
        value = raw[start:end].decode("utf-8", "surrogateescape").rstrip(_AFTER)
        if not value or "<" in value:
            continue
        before = raw[max(0, start - 80) : start].decode("utf-8", "ignore")
        if rule.check(value, before):
            yield start, start + len(value.encode("utf-8", "surrogateescape"))


def _in_characters(raw: bytes, spans: list[tuple[int, int, str]]) -> Iterator[Secret]:
    """Turn positions of bytes into positions of characters, in one pass from left to right."""
    at = position = 0
    for start, end, kind in spans:
        position += len(raw[at:start].decode("utf-8", "surrogatepass"))
        first, at = position, end
        position += len(raw[start:end].decode("utf-8", "surrogatepass"))
        yield Secret(kind, first, position)


@cache
def sieve() -> Callable[[bytes], list[int]]:
    return rulebook.sieve([pattern for _name, pattern in rulebook.read(FILE)])


@cache
def rules() -> tuple[SecretRule, ...]:
    compiled = []
    for name, pattern in rulebook.read(FILE):
        kind, check = name.split("/")
        linear = rulebook.linear(pattern)
        group = linear.groupindex.get(b"s", 0)
        compiled.append(SecretRule(kind, CHECKS[check], linear, group))
    return tuple(compiled)
