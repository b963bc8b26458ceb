"""Find attacks on the memory, for quarantine, and secrets, for redaction.

Guards are not the only safety: facts stay data in the prompt, derived writes need approval and
everything can be undone. Findings go to a person with the reason; nothing is dropped.
"""

import re
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from memory.guards import disguise, limits, rulebook
from memory.guards.rulebook import matching
from memory.guards.secrets import find_secrets
from memory.text.linear import BITS, LinearModel

WEIGHTS = Path(__file__).with_name("weights.npz")
MAX_SEGMENTS = 24
MAX_WHOLE = 2000
# A sentence alone counts less than a whole text.
SENTENCE_PENALTY = 0.3
# A long text scores by its mere length: it counts as a whole only where a sentence nearly does.
WHOLE_MARGIN = 0.1
_WORD = re.compile(r"\w+|[^\w\s]")
_DIGITS = re.compile(r"\d+")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_TURN = re.compile(r"^- [^:\n]{1,60}: ", re.MULTILINE)
_CLAUSES = rulebook.patterns(rulebook.CLAUSES)
MIN_LENGTH = 12  # characters of a turn or sentence that is judged
_MIX = np.uint64(0x9E3779B97F4A7C15)
_POWERS = np.array([pow(1000003, k, 2**64) for k in range(5)], dtype=np.uint64)
MAX_TEXT = 32768
# The beginning of what replaces a secret.
REDACTED = "[redacted"
LEARNED = 0.5  # of chat that the model was not trained on, 3 lines in 1,000 score higher
# People ask for a role or a saying in play, too: such a rule needs this score of the model.
PLAYFUL = frozenset({"persona", "puppet"})
PLAYFUL_SCORE = 0.3
MAX_VIEW = 4096
# A text is judged backwards or in rot13 only with one of these in it.
TELLTALES = "ignor forget olvid instruc prompt system memory password secret".split()
_ = str  # marks a reason for the catalogue without needing settings
REASONS = {
    "override": _("Asks Keno to break its instructions"),
    "persona": _("Tells the assistant to be somebody else"),
    "directive": _("A standing order for the assistant"),
    "trigger": _("Waits for a word or event to act"),
    "authority": _("Claims rights over the assistant"),
    "recommendation": _("Bends later advice towards something"),
    "exfiltration": _("Sends data somewhere"),
    "leak": _("Wants to see the hidden prompt"),
    "procedure": _("A harmful habit or change of identity"),
    "markup": _("Carries tags or code that act on the assistant or the page"),
    "puppet": _("Puts words into the assistant's mouth"),
    "hidden": _("Contains invisible or lookalike characters"),
    "disguised": _("An instruction in disguise: spaced, encoded or misspelt"),
    "learned": _("Reads like an instruction to the assistant"),
}


def features(seen: str) -> np.ndarray:
    """Return the buckets of the model that a plain text falls into, each once."""
    words = _WORD.findall(_DIGITS.sub("0", seen))
    letters = np.frombuffer((" " + " ".join(words) + " ").encode("utf-32-le"), dtype=np.uint32)
    letters = letters.astype(np.uint64)
    hashes = [_rolled(letters, n) for n in (3, 4, 5) if len(letters) >= n]
    codes = np.array([zlib.crc32(word.encode()) for word in words], dtype=np.uint64)
    hashes += [codes + np.uint64(7), _rolled(codes, 2), _rolled(codes, 3)]
    hashes.append(codes[:-2] * _POWERS[3] + codes[2:] * _POWERS[4])
    buckets = (np.concatenate(hashes) * _MIX) >> np.uint64(64 - BITS)
    return np.unique(buckets).astype(np.int64)


def _rolled(codes: np.ndarray, n: int) -> np.ndarray:
    if len(codes) < n:
        return codes[:0]
    count = len(codes) - n + 1
    return sum((codes[k : k + count] * _POWERS[k] for k in range(n)), np.uint64(n))


@cache
def _model() -> LinearModel:
    return LinearModel.read(WEIGHTS)


def score(seen: str) -> float:
    """Return 0..1 for the most order-like part of a plain text; length does not dilute it.

    Every turn of a transcript is judged by itself.
    """
    turns = [turn for turn in _TURN.split(seen) if len(turn.strip()) >= MIN_LENGTH]
    return max(map(_score, turns), default=0.0)


def _score(turn: str) -> float:
    whole, *parts = segments(turn)
    if not parts:
        return probability(whole)
    best = max(map(probability, parts))
    return max(0.0, min(probability(whole), best - WHOLE_MARGIN), best - SENTENCE_PENALTY)


def probability(seen: str) -> float:
    return _model().probability(features(seen))


def segments(seen: str) -> list[str]:
    """Return the text, or its beginning, and its sentences, joined where there are too many."""
    parts = [part for part in _SENTENCE.split(seen) if len(part) >= MIN_LENGTH]
    step = -(-len(parts) // MAX_SEGMENTS) or 1
    joined = [" ".join(parts[i : i + step]) for i in range(0, len(parts), step)]
    return [seen[:MAX_WHOLE], *(joined if len(joined) > 1 or len(seen) > MAX_WHOLE else [])]


@dataclass(frozen=True)
class Flag:
    kind: str
    reason: str
    start: int
    end: int


@dataclass(frozen=True)
class Verdict:
    flags: tuple[Flag, ...]
    score: float

    def __bool__(self) -> bool:
        return bool(self.flags)


def inspect(text: str) -> Verdict:
    """Return every kind of attack with its place in the text, and the certainty (0..1)."""
    text = text[:MAX_TEXT]
    seen = limits.without_limits(disguise.plain(text))
    seen = _CLAUSES["ordinary"].sub(lambda match: " " * len(match.group()), seen)
    flags = [_flag("hidden", *span) for _trick, *span in disguise.tricks(text)[:1]]
    flags += [_flag(kind, *disguise.origin(text, *span)) for kind, span in _matches(seen)]
    if not flags and _disguised(text, seen):
        flags = [_flag("disguised", 0, len(text))]
    if any(flag.kind not in PLAYFUL for flag in flags):
        return Verdict(tuple(flags), 1.0)
    learned = 0.0 if _CLAUSES["whereabouts"].fullmatch(seen.strip()) else score(seen)
    if flags and learned >= PLAYFUL_SCORE:
        return Verdict(tuple(flags), 1.0)
    return Verdict((_flag("learned", 0, len(text)),) if learned >= LEARNED else (), learned)


def is_suspicious(text: str) -> bool:
    return bool(inspect(text).flags)


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text with [redacted:kind] for every secret, and the kinds in order."""
    kinds, out, at = [], [], 0
    for secret in find_secrets(text):
        out += [text[at : secret.start], f"{REDACTED}:{secret.kind}]"]
        kinds.append(secret.kind)
        at = secret.end
    return "".join([*out, text[at:]]), tuple(kinds)


def _flag(kind: str, start: int, end: int) -> Flag:
    return Flag(kind, REASONS[kind], start, end)


def _matches(seen: str) -> list[tuple[str, tuple[int, int]]]:
    """Return the first place of each kind."""
    spans: dict[str, tuple[int, int]] = {}
    raw = seen.encode("utf-8", "replace")
    for rule in matching(raw):
        if rule.kind not in spans and (span := rule.find(raw)):
            spans[rule.kind] = span
    return list(spans.items())


def _disguised(text: str, seen: str) -> bool:
    """Tell whether a rule matches behind a disguise. Long runs of single letters are enough."""
    spaced = disguise.letters_apart(seen[:MAX_VIEW])
    decoded = map(disguise.plain, disguise.decoded(text[:MAX_VIEW]))
    views = [disguise.unleet(seen[:MAX_VIEW]), *decoded]
    if spaced or any(_matches(view[:MAX_VIEW]) for view in views if view):
        return True
    turned = [view for view in disguise.turned(seen[:512]) if any(w in view for w in TELLTALES)]
    return any(_matches(view) for view in turned)
