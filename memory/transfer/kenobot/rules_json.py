"""rules.json in both of its shapes: {"behavioral", "forbidden"} and {"rules"}."""

import re
from collections.abc import Iterator

from memory import text
from memory.transfer.items import Left, Place, RuleItem
from memory.transfer.json_reading import Broken, a_text, loads, texts

_SLUG = re.compile(r"[^a-z0-9_-]+")


def read(words: str, *, place: Place) -> Iterator[RuleItem | Left]:
    try:
        found = loads(words)
    except Broken as error:
        yield place.left("broken JSON", text=str(error))
        return
    if not isinstance(found, dict):
        yield place.left("no rules", text=text.short(words, 80))
        return
    for key, made in (("rules", _rule), ("behavioral", _rule), ("forbidden", _forbidden)):
        for number, each in enumerate(_list(found.get(key)), 1):
            yield made(each, f"#{key}.{number}", place)
    for key in sorted(set(found) - {"rules", "behavioral", "forbidden"}):
        yield place.left("unknown field", part=f"#{key}", text=text.short(str(found[key]), 80))


def _rule(given: object, part: str, place: Place) -> RuleItem | Left:
    if not isinstance(given, dict):
        given = {"instruction": a_text(given)}
    instruction = a_text(given.get("instruction")).strip()
    banned = [{"phrase": phrase, "reason": ""} for phrase in texts(given.get("forbidden_patterns"))]
    if not instruction and not banned:
        return place.left("empty rule", part=part)
    return RuleItem(
        path=place.path,
        part=part,
        slug=slug(a_text(given.get("id")) or instruction),
        instruction=instruction,
        category=a_text(given.get("category")) or "general",
        examples=tuple(_examples(given.get("examples"))),
        forbidden=tuple(banned),
    )


def _forbidden(given: object, part: str, place: Place) -> RuleItem | Left:
    """A phrase of its own becomes a rule without an instruction."""
    if isinstance(given, str):
        given = {"pattern": given}
    phrase = a_text(given.get("pattern")).strip() if isinstance(given, dict) else ""
    if not phrase:
        return place.left("empty rule", part=part)
    banned = {"phrase": phrase, "reason": a_text(given.get("reason"))}
    made = {"slug": slug(f"never-{phrase}"), "instruction": "", "forbidden": (banned,)}
    return RuleItem(path=place.path, part=part, category="forbidden", **made)


def _examples(given: object) -> Iterator[dict]:
    for each in _list(given):
        if isinstance(each, str):
            yield {"text": each}
        elif isinstance(each, dict):
            kept = {key: a_text(each.get(key)) for key in ("user", "assistant", "good", "bad")}
            kept = {key: value for key, value in kept.items() if value}
            if kept:
                yield kept


def slug(words: str) -> str:
    made = _SLUG.sub("-", text.fold(words)).strip("-")[:60].strip("-")
    return made or text.said_key(words)[:12]


def _list(value: object) -> list:
    return value if isinstance(value, list) else []
