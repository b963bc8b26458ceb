"""KenoBot's small files: working notes, rules.json, patterns.json and preferences.md."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from memory.identity import rules
from memory.text import normalise as text
from memory.transfer.items import Left, PatternItem, Place, PreferenceItem, RuleItem, WorkingItem
from memory.transfer.kenobot import escapes
from memory.transfer.kenobot.escapes import is_placeholder
from memory.transfer.readers.json_values import (
    Broken,
    loads,
    number_in_range,
    parse_time,
    text_list,
    text_or_empty,
)

_UPDATED = ("updated", "updatedAt", "updated_at")
_WORKING_FIELDS = {"session", "task", "context", "pending", "notes", *_UPDATED}


def read_working_note(content: str, *, place: Place) -> WorkingItem | Left:
    """Read a working note; unknown keys become lines of its notes."""
    if not content.strip():
        return place.left("empty file")
    data: object = None
    with suppress(Broken):
        data = loads(content)
    if not isinstance(data, dict):
        return _working_item(place, notes=content.strip())
    if "bootstrapState" in data:
        return place.left("bootstrap state", text=text.short(content, 80))
    when = parse_time(next(filter(None, map(data.get, _UPDATED)), None))
    if isinstance(data.get("content"), str):
        # {"content", "updatedAt"}, where the content may be any of the shapes again.
        note = read_working_note(data["content"], place=place)
        return replace(note, at=when) if isinstance(note, WorkingItem) and when else note
    more = [f"{key}: {data[key]}" for key in data if key not in _WORKING_FIELDS and data[key]]
    notes = "\n".join([text_or_empty(data.get("notes")), *more]).strip()
    values = {"context": text_list(data.get("context")), "pending": text_list(data.get("pending"))}
    return _working_item(
        place, when=when, task=text_or_empty(data.get("task")).strip(), notes=notes, **values
    )


def _working_item(place: Place, *, when=None, **values) -> WorkingItem | Left:
    if not any(values.values()):
        return place.left("empty file")
    return WorkingItem(path=place.path, chat=place.chat, at=when or place.modified, **values)


_RULE_LISTS = ("rules", "behavioral")
_FORBIDDEN_KEY = "forbidden"


def read_rules(content: str, *, place: Place) -> Iterator[RuleItem | Left]:
    try:
        found = loads(content)
    except Broken as error:
        yield place.left("broken JSON", text=str(error))
        return
    found = {"rules": found} if isinstance(found, list) else found
    if not isinstance(found, dict):
        yield place.left("no rules", text=text.short(content, 80))
        return
    for key in _RULE_LISTS:
        listed = found.get(key)
        for number, each in enumerate(listed if isinstance(listed, list) else [], 1):
            yield _rule({key: [each]}, place.at(f"#{key}.{number}"))
    if found.get(_FORBIDDEN_KEY):
        loose = {_FORBIDDEN_KEY: found[_FORBIDDEN_KEY]}
        yield _rule(loose, place.at(f"#{_FORBIDDEN_KEY}"))
    for key in sorted(set(found) - {*_RULE_LISTS, _FORBIDDEN_KEY}):
        yield place.at(f"#{key}").left("unknown field", text=text.short(str(found[key]), 80))


def _rule(data: dict, place: Place) -> RuleItem | Left:
    try:
        (values,) = rules.read(data) or [None]
    except rules.Invalid as error:
        return place.left("bad row", text=str(error))
    if values is None:
        return place.left("empty rule")
    fields = {name: values[name] for name in ("slug", "instruction", "category")}
    fields |= {name: tuple(values[name]) for name in ("examples", "forbidden")}
    return RuleItem(**place.here, **fields)


def read_patterns(content: str, *, place: Place) -> Iterator[PatternItem | Left]:
    try:
        found = loads(content)
    except Broken as error:
        yield place.left("broken JSON", text=str(error))
        return
    if isinstance(found, dict):
        found = found.get("patterns")
    if not isinstance(found, list):
        yield place.left("no list", text=text.short(content, 80))
        return
    for number, each in enumerate(found, 1):
        yield _pattern(each, place.at(f"#{number}"))


def _pattern(data: object, place: Place) -> PatternItem | Left:
    if not isinstance(data, dict):
        return place.left("not a pattern", text=text.short(str(data), 80))
    slug, trigger, response = (
        text_or_empty(data.get(key)) for key in ("id", "trigger", "response")
    )
    if not (trigger.strip() and response.strip()):
        return place.left("half a pattern", text=slug)
    uses = _first_of(data, "usageCount", "usage_count")
    return PatternItem(
        **place.here,
        slug=slug or text.said_key(trigger)[:12],
        trigger=trigger,
        response=response,
        confidence=number_in_range(data.get("confidence"), 0.6, low=0, high=1),
        use_count=int(number_in_range(uses, 0, low=0, high=2**31 - 1)),
        learned_from=text_or_empty(_first_of(data, "learnedFrom", "learned_from")),
        at=parse_time(_first_of(data, "createdAt", "created_at")),
    )


def _first_of(data: dict, *names: str) -> object:
    return next((data[name] for name in names if name in data), None)


_HEADING = re.compile(r"#{1,6}(?:\s+(.*))?$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,9}[.)])\s+(.*)$")
_RULER = re.compile(r"\s*(?:[-*_]\s*){3,}$")
_COMMENT = re.compile(r"\s*<!--.*-->\s*$")


def read_preferences(content: str, *, place: Place) -> Iterator[PreferenceItem | Left]:
    section = ""
    for number, line in enumerate(content.split("\n"), 1):
        heading = _HEADING.match(line)
        if heading:
            # The title of the file is not a section.
            section = "" if line.startswith("# ") else (heading[1] or "").strip()
            yield place.left("heading", line=number, text=line.strip())
        elif not line.strip():
            continue
        elif _RULER.match(line) or _COMMENT.match(line):
            yield place.left("rule", line=number, text=line.strip())
        else:
            yield _preference(line, number, section, place)


def _preference(line: str, number: int, section: str, place: Place) -> PreferenceItem | Left:
    item = _ITEM.match(line)
    content = (item[1] if item else line).strip()
    if is_placeholder(content):
        return place.left("placeholder", line=number, text=line.strip())
    words, where = escapes.unescape_item(content), place[number, number]
    return PreferenceItem(text=words, section=section, at=place.modified, **where)
