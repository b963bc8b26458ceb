"""The guard of seed 004, exactly: the baseline that Keno's guard is measured beside."""

import re

_SECRET = re.compile(r"api\s*key|token|password|credential|secret")
_INSTRUCTION = [
    re.compile(r"\[\[[\s\S]*\]\]"),
    re.compile(r"system|developer|prompt|instruction|policy|jailbreak|override"),
    re.compile(r"(?:ignore|disregard|bypass)\s+(?:previous|prior|earlier)"),
    re.compile(r"(?:always|never)\s+(?:reply|respond|say|output)"),
]


def rejects(text: str) -> bool:
    """It knows one list only, so that a secret and an instruction are the same to it."""
    lower = text.lower()
    return not lower or is_secret(text) or any(rule.search(lower) for rule in _INSTRUCTION)


def is_secret(text: str) -> bool:
    return bool(_SECRET.search(text.lower()))
