"""mem0's export: a list of memories, bare or under "results"."""

import json
from collections.abc import Iterator

from memory.text import normalise as text
from memory.transfer import containers
from memory.transfer.items import FactItem, Found, Place
from memory.transfer.readers.json_values import (
    Broken,
    loads,
    number_in_range,
    parse_time,
    text_or_empty,
)

_CATEGORIES = {"preference", "profile", "relationship", "project"}
_WORDS = ("memory", "data", "text", "content")


def recognises(data: object) -> bool:
    first = next(iter(_list(data)), None)
    return isinstance(first, dict) and isinstance(first.get("memory"), str)


def opens(tree: containers.Tree) -> tuple[list[str], list[str]]:
    return [name for name in tree.entries if name.endswith(".json")], []


def read(tree: containers.Tree) -> Iterator[Found]:
    for name in sorted(tree.entries):
        place = Place(name, modified=tree.entries[name].modified)
        if not name.endswith(".json") and len(tree.entries) > 1:
            yield place.left("unknown")
            continue
        try:
            memories = _list(loads(containers.read_text(tree, name)))
        except Broken as error:
            yield place.left("broken JSON", text=str(error))
            continue
        if not memories:
            yield place.left("not a memory")
        for number, each in enumerate(memories, 1):
            yield _memory(each, place.at(f"#{number}"))


def _list(data: object) -> list:
    if isinstance(data, dict):
        data = data.get("results") or data.get("memories")
    return data if isinstance(data, list) else []


def _memory(data: object, place: Place) -> Found:
    entry = data if isinstance(data, dict) else {"memory": data}
    texts = (text_or_empty(entry.get(key)).strip() for key in _WORDS)
    memory = next(filter(None, texts), "")
    if not memory:
        return place.left("not a memory", text=text.short(json.dumps(data), 80))
    metadata = entry.get("metadata") if isinstance(entry.get("metadata"), dict) else {}
    created = parse_time(entry.get("created_at"))
    return FactItem(
        **place.here,
        text=memory,
        quote=memory,
        subject=text_or_empty(entry.get("user_id")) or text_or_empty(entry.get("agent_id")),
        category=_category(entry.get("categories"), metadata),
        confidence=number_in_range(metadata.get("confidence"), 0.7, low=0, high=1),
        at=created,
        updated_at=parse_time(entry.get("updated_at")) or created,
    )


def _category(listed: object, metadata: dict) -> str:
    named = [*(listed if isinstance(listed, list) else []), metadata.get("type")]
    for name in named:
        word = text_or_empty(name).lower().removesuffix("s")
        if word in _CATEGORIES:
            return word
    return "other"
