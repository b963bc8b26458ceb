"""A small linear model beside the rules: how much a text reads like an order to the assistant.

Hashed letter and word n-grams, weights learned by bench/train_guard.py and shipped as data.
"""

import re
import zlib
from functools import cache
from pathlib import Path

import numpy as np

WEIGHTS = Path(__file__).with_name("weights.npz")
BITS = 16
SEGMENTS = 24
WHOLE = 2000
# A sentence alone says less than the text it stands in; and a long text, which adds up to something
# by its mere length, counts as a whole only where one of its sentences says as much.
PART, ECHO = 0.3, 0.1
_WORD = re.compile(r"\w+|[^\w\s]")
_DIGITS = re.compile(r"\d+")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_TURN = re.compile(r"^- [^:\n]{1,60}: ", re.MULTILINE)
FEW = 12  # too few signs to read like anything
_MIX = np.uint64(0x9E3779B97F4A7C15)
_POWERS = np.array([pow(1000003, k, 2**64) for k in range(5)], dtype=np.uint64)


def features(seen: str) -> np.ndarray:
    """The buckets that a plain text lights up, each once."""
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
def _weights() -> tuple[np.ndarray, float]:
    with np.load(WEIGHTS) as stored:
        return stored["weights"].astype(np.float32) * stored["scale"], float(stored["bias"])


def score(seen: str) -> float:
    """0..1 for the most order-like part of a plain text; a long text cannot water it down.

    In a talk every turn counts for itself: who spoke before does not make it an order.
    """
    turns = [turn for turn in _TURN.split(seen) if len(turn.strip()) >= FEW]
    return max(map(_score, turns), default=0.0)


def _score(turn: str) -> float:
    whole, *parts = segments(turn)
    if not parts:
        return probability(whole)
    best = max(map(probability, parts))
    return max(0.0, min(probability(whole), best - ECHO), best - PART)


def probability(seen: str) -> float:
    weights, bias = _weights()
    lit = features(seen)
    return float(1 / (1 + np.exp(-(bias + weights[lit].sum() / max(len(lit), 1) ** 0.5))))


def segments(seen: str) -> list[str]:
    """The whole text, or its beginning, and its sentences, joined up where there are too many."""
    parts = [part for part in _SENTENCE.split(seen) if len(part) >= 12]
    step = -(-len(parts) // SEGMENTS) or 1
    joined = [" ".join(parts[i : i + step]) for i in range(0, len(parts), step)]
    return [seen[:WHOLE], *(joined if len(joined) > 1 or len(seen) > WHOLE else [])]
