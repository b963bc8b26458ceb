"""Convert rows to JSON lines and back, with every value checked on the way in."""

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.text import normalise as text
from memory.transfer.archive.schema import BY_NAME, EVIDENCE, Kind, link_of
from memory.transfer.readers.json_values import parse_time

MAX_INTEGER = 2**31 - 1
MAX_TEXT = 1_000_000
# (kind name, number in the archive) -> number in the database, or the reverse.
Numbers = Callable[[str, object], int | None]


class BadRow(ValueError):
    """A row that cannot be restored."""


class Places:
    """Numbers of rows in the archive, by kind and primary key."""

    def __init__(self, ids: Mapping[str, array]):
        self._ids = ids

    def __call__(self, kind: str, pk: object) -> int | None:
        ids = self._ids[kind]
        at = bisect_left(ids, pk) if isinstance(pk, int) else len(ids)
        return at + 1 if at < len(ids) and ids[at] == pk else None


def encode(kind: Kind, row: Mapping[str, object], places: Numbers) -> dict:
    """Return the row as the archive stores it; `row` comes from queryset.values()."""
    encoded = {"id": places(kind.name, row["id"])}
    for column in _columns(kind.name):
        value = row[column.attname]
        if target := link_of(column):
            encoded[column.name] = places(target.name, value)
        elif column.name in kind.id_lists:
            placed = (places(kind.id_lists[column.name], each) for each in value)
            encoded[column.name] = [each for each in placed if each is not None]
        elif column.name in kind.evidence:
            encoded[column.name] = renumber_evidence(value, places)
        else:
            encoded[column.name] = _to_json(value)
    return encoded


def decode(kind: Kind, data: object, numbers: Numbers) -> dict[str, Any]:
    """Return values for the model's constructor; raise BadRow with the name of a bad field."""
    if not isinstance(data, dict):
        raise BadRow("not an object")
    values = {}
    for column in _columns(kind.name):
        if column.name not in data:
            continue  # a column that is newer than the archive keeps its default
        value = data[column.name]
        if target := link_of(column):
            values[column.attname] = numbers(target.name, value)
            if values[column.attname] is None and not column.null:
                raise BadRow(column.name)
        elif column.name in kind.id_lists:
            listed = value if isinstance(value, list) else []
            placed = (numbers(kind.id_lists[column.name], each) for each in listed)
            values[column.name] = [each for each in placed if each is not None]
        elif column.name in kind.evidence:
            values[column.name] = renumber_evidence(clean_json(value), numbers)
        else:
            values[column.name] = _value(column, value)
    return values


def renumber_evidence(evidence: object, numbers: Numbers) -> list:
    """Return evidence with new row numbers; an entry whose row is gone keeps its quote."""
    found = []
    for entry in evidence if isinstance(evidence, list) else []:
        if isinstance(entry, dict):
            placed = {key: numbers(EVIDENCE[key], entry[key]) for key in EVIDENCE if key in entry}
            found.append(entry | {key: value for key, value in placed.items() if value})
            for key in (key for key, value in placed.items() if not value):
                del found[-1][key]
    return found


def clean_json(value: object) -> object:
    if isinstance(value, str):
        return text.clean(value, limit=None)
    if isinstance(value, list):
        return [clean_json(each) for each in value]
    if isinstance(value, dict):
        return {text.clean(key, limit=None): clean_json(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@lru_cache
def _columns(name: str) -> list[models.Field]:
    return BY_NAME[name].fields


def _to_json(value: object) -> object:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def _value(column: models.Field, value: object) -> object:
    if value is None:
        if column.null:
            return None
        raise BadRow(column.name)
    for known, read in _READERS:
        if isinstance(column, known):
            return read(column, value)
    raise BadRow(column.name)


def _to_text(column: models.Field, value: object) -> str:
    if not isinstance(value, str):
        raise BadRow(column.name)
    said = text.clean(value, limit=MAX_TEXT)
    if column.max_length and len(said) > column.max_length:
        raise BadRow(column.name)
    if column.choices and said not in dict(column.flatchoices):
        raise BadRow(column.name)
    return said


def _to_number(column: models.Field, value: object) -> float | int:
    whole = isinstance(column, models.IntegerField)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise BadRow(column.name)
    if not math.isfinite(value) or abs(value) > MAX_INTEGER:
        raise BadRow(column.name)
    return value


def _to_bool(column: models.Field, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadRow(column.name)
    return value


def _to_time(column: models.Field, value: object) -> datetime:
    when = parse_time(value) if isinstance(value, str) else None
    if when is None:
        raise BadRow(column.name)
    return when


def _to_list(column: ArrayField, value: object) -> list:
    if not isinstance(value, list):
        raise BadRow(column.name)
    return [_value(column.base_field, each) for each in value]


_READERS = [
    (ArrayField, _to_list),
    (models.JSONField, lambda column, value: clean_json(value)),
    (models.DateTimeField, _to_time),
    (models.BooleanField, _to_bool),
    (models.IntegerField | models.FloatField, _to_number),
    (models.CharField | models.TextField, _to_text),
]
