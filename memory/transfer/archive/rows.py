"""Convert rows to JSON lines and back, with every value checked on the way in."""

import json
import math
import tomllib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.crypto import constant_time_compare, salted_hmac

from memory.models.content import way_to_space
from memory.text import normalise as text
from memory.transfer.readers.json_values import parse_time

SALT = "memory.transfer.archive"
MAX_INTEGER = 2**31 - 1
MAX_TEXT = 1_000_000
# (kind name, number in the archive) -> number in the database, or the reverse. A context of
# changes has an UUID.
Numbers = Callable[[str, object], Any]


@dataclass(frozen=True)
class Kind:
    """One table: its file in the archive and what its rows point to."""

    name: str
    model: str
    app: str = "memory"
    # Columns that are computed again.
    derived: list[str] = field(default_factory=list)
    # Columns that hold ids of other rows in a list, and of which kind.
    id_lists: dict[str, str] = field(default_factory=dict)
    # Columns that hold [{"episode": 3, "quote": "…"}, …].
    evidence: list[str] = field(default_factory=list)
    renumber: Mapping[str, Callable[[Any, Numbers], Any]] = field(default_factory=dict)
    # Translated sentences, which are exported as they are stored.
    sentences: list[str] = field(default_factory=list)
    # Columns by which a row that is here already is recognised; the first finds the candidates.
    met_by: list[str] = field(default_factory=list)
    # What the guards look at: columns of one line, of many, and of lists.
    lines: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)

    @property
    def table(self) -> Any:
        return apps.get_model(self.app, self.model)

    @property
    def is_history(self) -> bool:
        return hasattr(self.table, "pgh_tracked_model")

    @property
    def way(self) -> str:
        """Return the lookup that leads from a row to its space."""
        return way_to_space(self.table)

    @cached_property
    def fields(self) -> list[models.Field]:
        """Return the columns of a row except its id and its space."""
        left_out = {"id", "space", self.table._meta.pk.name, *self.derived}
        return [f for f in self.table._meta.concrete_fields if f.name not in left_out]


# Names by which JSON points to rows.
EVIDENCE = {
    "fact": "facts",
    "episode": "episodes",
    "message": "messages",
    "pattern": "patterns",
    "chat": "chats",
}
TARGETS = EVIDENCE | {"rule": "rules", "preference": "preferences", "entity": "entities"}
PLANNED = {"read": "episodes", "episodes": "episodes", "notes": "working_notes"}


def _number_of(kind: str) -> Callable[[Any, Numbers], Any]:
    return lambda value, numbers: numbers(kind, value)


def _renumber_left_out(value: dict, numbers: Numbers) -> dict:
    """Renumber what a receipt cut: rows of kind, id and scores."""
    if "rows" not in value:
        return value
    placed = [
        [kind, numbers(EVIDENCE[kind], pk), *more]
        for kind, pk, *more in value["rows"]
        if kind in EVIDENCE
    ]
    return value | {"rows": [row for row in placed if row[1]]}


def _renumber_plan(value: list, numbers: Numbers) -> list:
    """Renumber the plan of a phase of a night: {"read": [ids of episodes]}, or a word."""

    def renumbered(name: str, ids: Any) -> Any:
        if name not in PLANNED or not isinstance(ids, list):
            return ids
        return [number for number in (numbers(PLANNED[name], pk) for pk in ids) if number]

    entries = (entry for entry in value if isinstance(entry, dict))
    plan = [{name: renumbered(name, ids) for name, ids in entry.items()} for entry in entries]
    return plan or value


def _renumber_targets(value: list, numbers: Numbers) -> list:
    """Renumber the targets; one that is gone gets 0, and the proposal says so."""
    return [row | {"id": numbers(TARGETS[row["type"]], row["id"]) or 0} for row in value]


def _renumber_before(value: dict, numbers: Numbers) -> dict:
    """Renumber the earlier targets, {"fact:12": {"chat_id": 3, …}}; a setting keeps its name."""
    renumbered = {}
    for name, row in value.items():
        kind, _colon, pk = name.partition(":")
        if kind in TARGETS and pk.isdigit():
            name = f"{kind}:{numbers(TARGETS[kind], int(pk)) or 0}"
            row = _renumber_links(row, numbers, chat_id="chats", merged_into_id="entities")
        renumbered[name] = row
    return renumbered


def _renumber_links(value: dict, numbers: Numbers, **kinds: str) -> dict:
    return value | {key: numbers(kinds[key], value[key]) for key in kinds if key in value}


def _renumber_after(value: dict, numbers: Numbers) -> dict:
    renumbered = _renumber_links(value, numbers, chat="chats", keep="facts")
    if "offer" in value:
        message, place = value["offer"]
        renumbered["offer"] = [numbers("messages", message), place]
    return renumbered


def metadata(value: dict, numbers: Numbers) -> dict:
    """Renumber what is known of a change: its night, its proposal, the changes it undoes."""
    numbered = {"night": "nights", "proposal": "proposals"}
    links = {key: kind for key, kind in numbered.items() if isinstance(value.get(key), int)}
    renumbered = _renumber_links(value, numbers, **links)
    for key in ("undoes_context", "redoes_context"):
        if key in value:
            contexts = (numbers("contexts", context) for context in str(value[key]).split())
            renumbered[key] = " ".join(str(number) for number in contexts if number)
    return renumbered


# Columns that name rows in a way of their own, by kind: the value with other numbers.
RENUMBER: dict[str, dict[str, Callable[[Any, Numbers], Any]]] = {
    # A member is known by the name for signing in.
    "chats": {"owner": _number_of("members")},
    "receipts": {"left_out": _renumber_left_out},
    "night_phases": {"plan": _renumber_plan},
    "night_changes": {"context": _number_of("contexts")},
    "proposals": {
        "targets": _renumber_targets,
        "before": _renumber_before,
        "after": _renumber_after,
        "applied_as": _number_of("contexts"),
    },
}
TABLES = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text("utf-8"))
KINDS, RECORDS = (
    [Kind(name, renumber=RENUMBER.get(name, {}), **row) for name, row in TABLES[group].items()]
    for group in ("kinds", "records")
)
PROPOSALS = next(kind for kind in RECORDS if kind.name == "proposals")
# Every earlier state of these rows, with the values that are computed again for a row.
HISTORY = [
    replace(
        kind,
        name=f"{kind.name}_history",
        model=f"{kind.model}Event",
        derived=PROPOSALS.derived if kind is PROPOSALS else [],
    )
    for kind in (*KINDS, PROPOSALS)
    if kind.name not in ("messages", "reminders", "erasures")
]
# Who changed something, why, and what else with it.
CONTEXTS = Kind("contexts", "Context", app="pghistory")
ALL = [*KINDS, *RECORDS, *HISTORY, CONTEXTS]
BY_NAME = {kind.name: kind for kind in ALL}
BY_MODEL = {kind.model: kind for kind in ALL}


def link_of(column: models.Field) -> Kind | None:
    """Return the kind of row that a foreign key points to, if the archive holds it."""
    if not column.is_relation or column.related_model is None:
        return None
    return BY_MODEL.get(column.related_model.__name__)


def sign(manifest: dict) -> str:
    signed = {key: value for key, value in manifest.items() if key != "seal"}
    payload = json.dumps(signed, sort_keys=True, ensure_ascii=True)
    return salted_hmac(SALT, payload, algorithm="sha256").hexdigest()


def is_valid(manifest: dict) -> bool:
    return constant_time_compare(str(manifest.get("seal", "")), sign(manifest))


class BadRow(ValueError):
    """A row that cannot be restored."""


class Places:
    """Numbers of rows in the archive, by kind and primary key.

    Members have names; contexts of changes are numbered in the order in which they appear.
    """

    def __init__(self, ids: Mapping[str, array], members: Mapping[int, str]):
        self._ids, self._members = ids, members
        self.contexts: dict[UUID, int] = {}

    def __call__(self, kind: str, pk: Any) -> Any:
        if kind == "members":
            return self._members.get(pk)
        if kind == "contexts":
            return self.contexts.setdefault(pk, len(self.contexts) + 1) if pk else None
        ids = self._ids.get(kind, ())
        at = bisect_left(ids, pk) if isinstance(pk, int) else len(ids)
        return at + 1 if at < len(ids) and ids[at] == pk else None


def encode(kind: Kind, row: Mapping[str, object], places: Numbers) -> dict:
    """Return the row as the archive stores it; `row` comes from queryset.values()."""
    encoded = {"id": places(kind.name, row[kind.table._meta.pk.attname])}
    for column in kind.fields:
        value = row[column.attname]
        if target := link_of(column):
            encoded[column.name] = places(target.name, value)
        elif column.name in kind.id_lists:
            placed = (places(kind.id_lists[column.name], each) for each in value)
            encoded[column.name] = [each for each in placed if each is not None]
        elif column.name in kind.evidence:
            encoded[column.name] = renumber_evidence(value, places)
        elif column.name in kind.renumber:
            encoded[column.name] = value and kind.renumber[column.name](value, places)
        else:
            encoded[column.name] = _to_json(value)
    return encoded


def decode(kind: Kind, data: object, numbers: Numbers) -> dict[str, Any]:
    """Return values for the model's constructor; raise BadRow with the name of a bad field."""
    if not isinstance(data, dict):
        raise BadRow("not an object")
    values = {}
    for column in kind.fields:
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
        elif column.name in kind.renumber:
            values[column.attname] = value and kind.renumber[column.name](
                clean_json(value), numbers
            )
        else:
            values[column.name] = _value(column, value)
    return values


def renumber_evidence(evidence: object, numbers: Numbers) -> list:
    """Return evidence with new row numbers; an entry whose row is gone keeps its quote."""
    entries = evidence if isinstance(evidence, list) else []
    linked = (
        _renumber_links(entry, numbers, **EVIDENCE) for entry in entries if isinstance(entry, dict)
    )
    return [
        {key: value for key, value in entry.items() if value or key not in EVIDENCE}
        for entry in linked
    ]


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


def _to_json(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, date | Decimal) else value


def _value(column: models.Field, value: object) -> object:
    if value is None:
        if column.null:
            return None
        raise BadRow(column.name)
    read = next((read for kind, read in _READERS if isinstance(column, kind)), None)
    try:
        result = read(column, value) if read else None
    except (ValueError, InvalidOperation):
        result = None
    if result is None:
        raise BadRow(column.name)
    return result


def _to_text(column: models.Field, value: object) -> str | None:
    if not isinstance(value, str):
        return None
    body = text.clean(value, limit=MAX_TEXT)
    is_long = column.max_length is not None and len(body) > column.max_length
    is_odd = column.choices and body not in dict(column.flatchoices) and (body or not column.blank)
    return None if is_long or is_odd else body


def _to_number(column: models.Field, value: object) -> float | int | None:
    whole = isinstance(column, models.IntegerField)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return None
    return value if math.isfinite(value) and abs(value) <= MAX_INTEGER else None


def _to_list(column: ArrayField, value: object) -> list | None:
    if not isinstance(value, list):
        return None
    return [_value(column.base_field, each) for each in value]


# How to read a value for a column of this class; None, or ValueError, for one that does not fit.
_READERS: list[tuple[Any, Callable[[Any, Any], Any]]] = [
    (ArrayField, _to_list),
    (models.JSONField, lambda column, value: clean_json(value)),
    (models.DateTimeField, lambda _, value: parse_time(value) if isinstance(value, str) else None),
    (models.DateField, lambda column, value: date.fromisoformat(str(value))),
    (models.DecimalField, lambda column, value: Decimal(str(value))),
    (models.BooleanField, lambda column, value: value if isinstance(value, bool) else None),
    (models.IntegerField | models.FloatField, _to_number),
    (models.CharField | models.TextField, _to_text),
]
