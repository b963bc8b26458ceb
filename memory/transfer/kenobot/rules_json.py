"""rules.json in both of its shapes: {"behavioral", "forbidden"} and {"rules"}."""

from collections.abc import Iterator

from memory import text
from memory.identity import rules
from memory.transfer.items import Left, Place, RuleItem
from memory.transfer.json_reading import Broken, loads

_LISTS = ("rules", "behavioral")
_FORBIDDEN = "forbidden"


def read(words: str, *, place: Place) -> Iterator[RuleItem | Left]:
    try:
        found = loads(words)
    except Broken as error:
        yield place.left("broken JSON", text=str(error))
        return
    found = {"rules": found} if isinstance(found, list) else found
    if not isinstance(found, dict):
        yield place.left("no rules", text=text.short(words, 80))
        return
    for key in _LISTS:
        listed = found.get(key)
        for number, each in enumerate(listed if isinstance(listed, list) else [], 1):
            yield _rule({key: [each]}, f"#{key}.{number}", place)
    if found.get(_FORBIDDEN):
        yield _rule({_FORBIDDEN: found[_FORBIDDEN]}, f"#{_FORBIDDEN}", place)
    for key in sorted(set(found) - {*_LISTS, _FORBIDDEN}):
        yield place.left("unknown field", part=f"#{key}", text=text.short(str(found[key]), 80))


def _rule(given: dict, part: str, place: Place) -> RuleItem | Left:
    try:
        (made,) = rules.read(given) or [None]
    except rules.Invalid as error:
        return place.left("bad row", part=part, text=str(error))
    if made is None:
        return place.left("empty rule", part=part)
    return RuleItem(
        path=place.path,
        part=part,
        slug=made["slug"],
        instruction=made["instruction"],
        category=made["category"],
        examples=tuple(made["examples"]),
        forbidden=tuple(made["forbidden"]),
    )
