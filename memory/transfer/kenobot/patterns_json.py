"""patterns.json: a bare list or {"patterns": […]}, with camelCase or snake_case keys."""

from collections.abc import Iterator

from memory import text
from memory.transfer.items import Left, PatternItem, Place
from memory.transfer.json_reading import Broken, a_number, a_text, a_time, loads


def read(words: str, *, place: Place) -> Iterator[PatternItem | Left]:
    try:
        found = loads(words)
    except Broken as error:
        yield place.left("broken JSON", text=str(error))
        return
    if isinstance(found, dict):
        found = found.get("patterns")
    if not isinstance(found, list):
        yield place.left("no list", text=text.short(words, 80))
        return
    for number, each in enumerate(found, 1):
        yield _pattern(each, f"#{number}", place)


def _pattern(given: object, part: str, place: Place) -> PatternItem | Left:
    if not isinstance(given, dict):
        return place.left("not a pattern", part=part, text=text.short(str(given), 80))
    slug, trigger, response = (a_text(given.get(key)) for key in ("id", "trigger", "response"))
    if not (trigger.strip() and response.strip()):
        return place.left("half a pattern", part=part, text=slug)
    uses = _first(given, "usageCount", "usage_count")
    return PatternItem(
        path=place.path,
        part=part,
        slug=slug or text.said_key(trigger)[:12],
        trigger=trigger,
        response=response,
        confidence=a_number(given.get("confidence"), 0.6, low=0, high=1),
        use_count=int(a_number(uses, 0, low=0, high=2**31 - 1)),
        learned_from=a_text(_first(given, "learnedFrom", "learned_from")),
        at=a_time(_first(given, "createdAt", "created_at")),
    )


def _first(given: dict, *names: str) -> object:
    return next((given[name] for name in names if name in given), None)
