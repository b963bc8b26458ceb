"""Text behind its disguise, for matching only: what is stored stays as it was written."""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate
from urllib.parse import unquote

# Characters of other scripts that pass for Latin letters (after Unicode TR 39), lower case.
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕһԁԛԝзвмнткгьɑɡıɩοαρτυνκιεχβηωγσℓ",
    "aeopcyxijshdqw3bmhtkrbagiioaptuvkiexbnwyol",
)
_LEET = str.maketrans("4310578@$!|", "aeiostbasil")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0100-\U000e01ef]"
)
_TAGS = re.compile("(\U0001f3f4[\U000e0020-\U000e007f]+)|[\U000e0000-\U000e007f]+")
_OVERRIDE = re.compile("[\u202d\u202e]")
_EMBEDDING = re.compile("[\u202a\u202b\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_SPLIT_WORD = re.compile("[A-Za-zÀ-ɏ][\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+[A-Za-zÀ-ɏ]")
# A Cyrillic or Greek lookalike inside a Latin word; "Δt" and "5 μm" are physics.
_MIXED = re.compile("[A-Za-z]{2}[а-яіјѕһԁοαρτνκιεχ]|[А-яІЈЅԁοαρτνκιεχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ][A-Za-z]{2}")
_LETTERS_APART = re.compile(r"(?<!\S)(?:[^\W\d_][ .\-_*]{1,3}){9,}[^\W\d_](?!\w)")
_GAP = re.compile(r"[ .\-_*]{2,}")
_LEET_WORD = re.compile(r"[^\W\d_][0-9@$!|]+[^\W\d_]|\b[0-9@$][^\W\d_]+[0-9@$]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"\b(?:[0-9a-fA-F]{2}[ ]?){10,}")
_ESCAPES = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}")
_ENTITY = re.compile(r"&#?\w{1,12};")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}){2}|%3[CcEe]")


class _Plain(dict):
    """Code point -> what it looks like: lower case, no accent, no disguise; filled as needed."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if 0xE0020 <= code <= 0xE007E:  # an invisible twin of ASCII
            seen = chr(code - 0xE0000).lower()
        elif 0xE0000 <= code <= 0xE007F or 0xD800 <= code <= 0xDFFF or _INVISIBLE.match(char):
            seen = ""
        else:
            wide = unicodedata.normalize("NFKD", char).casefold()
            seen = "".join(c for c in wide if not unicodedata.combining(c)).translate(_LOOKALIKES)
        self[code] = seen
        return seen


_QUOTES = dict.fromkeys(map(ord, "“”„«»"), '"') | dict.fromkeys(map(ord, "‘’‚‹›`´"), "'")
_PLAIN = _Plain(_QUOTES | {ord("\r"): "\n"})


def plain(text: str) -> str:
    """Return the text as it looks: lower case, no accents, lookalikes or invisible characters."""
    return text.translate(_PLAIN)


def origin(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place in the text of the characters start..end of its plain form."""
    ends = list(accumulate(len(_PLAIN[ord(char)]) for char in text))
    first, last = bisect_right(ends, start), bisect_left(ends, end)
    return first, min(last + 1, len(text))


def tricks(text: str) -> list[tuple[str, int, int]]:
    """Return characters that nobody types: (kind, start, end), each kind once."""
    if text.isascii():
        return []
    found = [("tags", *m.span()) for m in _TAGS.finditer(text) if not m.group(1)][:1]
    rules = [("bidi", _OVERRIDE), ("split", _SPLIT_WORD), ("mixed", _MIXED)]
    if not _RIGHT_TO_LEFT.search(text):
        rules.append(("bidi", _EMBEDDING))
    return found + [(name, *m.span()) for name, rule in rules if (m := rule.search(text))]


def letters_apart(text: str) -> str:
    """Return "I g n o r e  t h i s" as "ignore this"; empty without such a run."""
    runs = [m.group() for m in _LETTERS_APART.finditer(text)]
    return " ".join(
        " ".join(re.sub(r"[\W_]+", "", word) for word in _GAP.split(run)) for run in runs
    )


def unleet(seen: str) -> str:
    """Return "1gn0re th1s" as "ignore this"; empty when no word mixes letters and digits."""
    return seen.translate(_LEET) if _LEET_WORD.search(seen) else ""


def decoded(text: str) -> list[str]:
    """Decode base64, hex, entities, escapes and percent signs in the text."""
    out = [readable for run in _BASE64.findall(text)[:8] if (readable := _from_base64(run))]
    out += [readable for run in _HEX.findall(text)[:8] if (readable := _from_hex(run))]
    if _ENTITY.search(text):
        out.append(html.unescape(html.unescape(text)))
    if _PERCENT.search(text):
        out.append(unquote(text))
    if _ESCAPES.search(text):
        out.append(_ESCAPES.sub(lambda m: chr(int(m.group()[2:], 16)), text))
    return out


def turned(seen: str) -> list[str]:
    """Return the text in rot13 and backwards."""
    return [codecs.encode(seen, "rot13"), seen[::-1]]


def _from_base64(run: str) -> str:
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _readable(base64.b64decode(body + "=" * (-len(body) % 4), validate=True))
    except (binascii.Error, ValueError):
        return ""


def _from_hex(run: str) -> str:
    return _readable(bytes.fromhex(run.replace(" ", "")))


def _readable(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    letters = sum(c.isalpha() or c == " " for c in text)
    return text if len(text) >= 8 and letters > 0.8 * len(text) else ""
