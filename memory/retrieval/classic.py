"""The `classic` profile: the fixed formula and gate of an older bot, reproduced exactly."""

import re
from datetime import datetime

from memory.retrieval.features import channel
from memory.retrieval.lanes import Candidate

WITH_MEANING = {
    "semantic": 0.50,
    "lexical": 0.28,
    "confidence": 0.10,
    "recency": 0.07,
    "channel": 0.05,
}
WITHOUT = {"lexical": 0.75, "confidence": 0.10, "recency": 0.10, "channel": 0.05}
_TOKEN = re.compile(r"[a-z0-9]{3,}")
_NOISE = re.compile(r"https?://\S+|<a?:\w{1,64}:\d{1,24}>")


def tokens(value: str, limit: int) -> list[str]:
    return list(dict.fromkeys(_TOKEN.findall(value.lower())))[:limit]


def compact(value: str) -> str:
    plain = re.sub(r"[^a-z0-9 ]", " ", _NOISE.sub(" ", value.lower()))
    return re.sub(r"\s+", " ", plain).strip()


def lexical(query: str, fact: str, evidence: str = "") -> float:
    """Return 1 when the fact contains the question, else the share of its words that it has."""
    whole, phrase = compact(f"{fact} {evidence}"), compact(query)
    if phrase and phrase in whole:
        return 1.0
    wanted = tokens(query, 32)
    held = set(tokens(f"{fact} {evidence}", 96))
    return len(held.intersection(wanted)) / len(wanted) if wanted else 0.0


def recency(created_at: datetime, now: datetime) -> float:
    days = max(0.0, (now - created_at).total_seconds() / 86400)
    return 1 / (1 + days / 45)


def features(
    query: str, unit: Candidate, *, now: datetime, chat_id: int | None
) -> dict[str, float]:
    return {
        "semantic": min(1.0, max(0.0, unit.asked or 0.0)),
        "lexical": lexical(query, unit.text, unit.quote or ""),
        "confidence": min(1.0, max(0.0, unit.confidence)),
        "recency": recency(unit.said_at, now),
        "channel": channel(unit.chat_id, chat_id),
    }


def weights(*, meaning: bool) -> dict[str, float]:
    return WITH_MEANING if meaning else WITHOUT


def passes(values: dict[str, float], score: float, *, meaning: bool) -> bool:
    semantic, words = values["semantic"], values["lexical"]
    if not meaning:
        return words >= 0.24 or score >= 0.62
    if semantic >= 0.2 or words >= 0.22:
        return True
    return score >= 0.52 and (semantic >= 0.08 or words >= 0.1)
