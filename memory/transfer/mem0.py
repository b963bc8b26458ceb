"""mem0's export: a list of memories, bare or under "results"."""

import json
from collections.abc import Iterator

from memory import text
from memory.transfer import safe
from memory.transfer.items import FactItem, Found, Place
from memory.transfer.json_reading import Broken, a_number, a_text, a_time, loads

_CATEGORIES = {"preference", "profile", "relationship", "project"}
_WORDS = ("memory", "data", "text", "content")


def recognises(given: object) -> bool:
    found = _list(given)
    return bool(found) and isinstance(found[0], dict) and isinstance(found[0].get("memory"), str)


def opens(names: list[str]) -> tuple[list[str], list[str]]:
    return [name for name in names if name.endswith(".json")], []


def read(tree: safe.Tree) -> Iterator[Found]:
    for name in sorted(tree.entries):
        place = Place(name, modified=tree.entries[name].modified)
        if not name.endswith(".json") and len(tree.entries) > 1:
            yield place.left("unknown")
            continue
        try:
            found = _list(loads(safe.read_text(tree, name)))
        except Broken as error:
            yield place.left("broken JSON", text=str(error))
            continue
        if not found:
            yield place.left("not a memory")
        for number, each in enumerate(found, 1):
            yield _memory(each, f"#{number}", place)


def _list(given: object) -> list:
    if isinstance(given, dict):
        given = given.get("results") or given.get("memories")
    return given if isinstance(given, list) else []


def _memory(given: object, part: str, place: Place) -> Found:
    entry = given if isinstance(given, dict) else {"memory": given}
    said = next((a_text(entry.get(key)) for key in _WORDS if a_text(entry.get(key)).strip()), "")
    if not said:
        return place.left("not a memory", part=part, text=text.short(json.dumps(given), 80))
    metadata = entry.get("metadata") if isinstance(entry.get("metadata"), dict) else {}
    created = a_time(entry.get("created_at"))
    return FactItem(
        path=place.path,
        part=part,
        text=said.strip(),
        quote=said.strip(),
        subject=a_text(entry.get("user_id")) or a_text(entry.get("agent_id")),
        category=_category(entry.get("categories"), metadata),
        confidence=a_number(metadata.get("confidence"), 0.7, low=0, high=1),
        at=created,
        updated_at=a_time(entry.get("updated_at")) or created,
    )


def _category(listed: object, metadata: dict) -> str:
    named = [*(listed if isinstance(listed, list) else []), metadata.get("type")]
    for name in named:
        word = a_text(name).lower().removesuffix("s")
        if word in _CATEGORIES:
            return word
    return "other"
