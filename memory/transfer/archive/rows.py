"""Convert rows to JSON lines and back, with every value checked on the way in."""

import json
import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
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
# (kind name, number in the archive) -> number in the database, or the reverse. What grouped
# changes is known by an UUID.
Numbers = Callable[[str, object], Any]


@dataclass(frozen=True)
class Kind:
    """One table: its file in the archive and what its rows point to."""

    name: str
    model: str
    # Columns that are computed again.
    derived: tuple[str, ...] = ()
    # Columns that hold ids of other rows in a list, and of which kind.
    id_lists: dict[str, str] = field(default_factory=dict)
    # Columns that hold [{"episode": 3, "quote": "…"}, …].
    evidence: tuple[str, ...] = ()
    app: str = "memory"
    # Columns that name rows in a way of their own: the value with other numbers.
    renumber: Mapping[str, Callable[[Any, Numbers], Any]] = field(default_factory=dict)
    # Sentences of ours, which a reader would get in a language.
    sentences: tuple[str, ...] = ()
    # By what a row that is here already is known again; the first of these finds the candidates.
    met_by: tuple[str, ...] = ()
    # What the guards look at: columns of one line, of many, and of lists.
    lines: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()

    @property
    def table(self) -> Any:
        return apps.get_model(self.app, self.model)

    @property
    def is_history(self) -> bool:
        return hasattr(self.table, "pgh_tracked_model")

    @property
    def way(self) -> str:
        """The lookup that leads from a row to its space."""
        return way_to_space(self.table)

    @property
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


def _left_out(value: dict, numbers: Numbers) -> dict:
    """What a receipt cut: rows of kind, id and numbers."""
    if "rows" not in value:
        return value
    placed = [
        [kind, numbers(EVIDENCE[kind], pk), *more]
        for kind, pk, *more in value["rows"]
        if kind in EVIDENCE
    ]
    return value | {"rows": [row for row in placed if row[1]]}


def _planned(value: list, numbers: Numbers) -> list:
    """What a phase of a night had to do: {"read": [ids of episodes]}, or a word."""

    def placed(name: str, what: Any) -> Any:
        if name not in PLANNED or not isinstance(what, list):
            return what
        return [n for n in (numbers(PLANNED[name], pk) for pk in what) if n]

    named = (item for item in value if isinstance(item, dict))
    found = [{name: placed(name, what) for name, what in item.items()} for item in named]
    return found or value


def _targets(value: list, numbers: Numbers) -> list:
    """A target that is gone has no number: then the proposal says so."""
    return [one | {"id": numbers(TARGETS[one["type"]], one["id"]) or 0} for one in value]


def _before(value: dict, numbers: Numbers) -> dict:
    """The targets as they were: {"fact:12": {"chat_id": 3, …}}; a setting by its name."""
    found = {}
    for name, was in value.items():
        kind, _colon, pk = name.partition(":")
        if kind not in TARGETS or not pk.isdigit():
            found[name] = was
            continue
        links = {"chat_id": "chats", "merged_into_id": "entities"}
        placed = {key: numbers(of, was[key]) for key, of in links.items() if key in was}
        found[f"{kind}:{numbers(TARGETS[kind], int(pk)) or 0}"] = was | placed
    return found


def _after(value: dict, numbers: Numbers) -> dict:
    links = {"chat": "chats", "keep": "facts"}
    placed = {key: numbers(of, value[key]) for key, of in links.items() if key in value}
    if "offer" in value:
        message, place = value["offer"]
        placed["offer"] = [numbers("messages", message), place]
    return value | placed


def metadata(value: dict, numbers: Numbers) -> dict:
    """What is known of a change: who, why, and the night, proposal or changes it belongs to."""
    links = {"night": "nights", "proposal": "proposals"}
    placed = {
        key: numbers(of, value[key]) for key, of in links.items() if isinstance(value.get(key), int)
    }
    for key in ("undoes_context", "redoes_context"):
        if key in value:
            found = (numbers("contexts", one) for one in str(value[key]).split())
            placed[key] = " ".join(str(one) for one in found if one)
    return value | placed


KINDS = [
    Kind(
        "chats",
        "Chat",
        # Somebody of the space is known by their name for signing in.
        renumber={"owner": _number_of("members")},
        met_by=("external_id", "channel"),
        lines=("title",),
        texts=("context",),
    ),
    Kind(
        "episodes",
        "Episode",
        id_lists={"summary_of": "episodes"},
        met_by=("started_at", "chat_id"),
        lines=("title",),
        texts=("body",),
    ),
    Kind("messages", "Message", met_by=("external_id", "chat_id"), texts=("text",)),
    Kind(
        "facts",
        "Fact",
        derived=("said_key",),
        evidence=("evidence",),
        met_by=("said_key", "chat_id", "subject"),
        lines=("text",),
        texts=("quote",),
    ),
    Kind("reminders", "Reminder", met_by=("fact_id",)),
    Kind(
        "entities",
        "Entity",
        derived=("keys",),
        met_by=("name", "chat_id", "relation", "accounts"),
        lines=("name",),
        lists=("aliases",),
    ),
    Kind(
        "patterns",
        "Pattern",
        evidence=("evidence",),
        met_by=("trigger", "chat_id", "response"),
        lines=("trigger",),
        texts=("response",),
    ),
    Kind(
        "working_notes",
        "WorkingNote",
        met_by=("chat_id",),
        lines=("task",),
        texts=("notes",),
        lists=("context", "pending"),
    ),
    Kind("identity", "Identity", met_by=("space_id",), texts=("core",)),
    Kind(
        "rules",
        "Rule",
        met_by=("slug",),
        texts=("instruction",),
        lists=("examples", "forbidden"),
    ),
    Kind("preferences", "Preference", met_by=("key", "section", "value"), texts=("value",)),
    Kind(
        "rulings",
        "Ruling",
        derived=("said_key",),
        met_by=("said_key", "kind", "fact_id"),
        lines=("text",),
        texts=("reason",),
    ),
    Kind(
        "golden_questions",
        "GoldenQuestion",
        # How it went is asked anew.
        derived=("state", "broke", "checked_at", "green_at"),
        evidence=("found", "unfound"),
        met_by=("question", "chat_id"),
        lines=("question",),
    ),
    # What was erased here, for whoever restores it beside an older backup: no words.
    Kind("erasures", "Erasure", met_by=("salt",)),
]
PROPOSALS = Kind(
    "proposals",
    "Proposal",
    app="sleep",
    # Who decided is told by name.
    derived=("decided_by",),
    evidence=("evidence",),
    renumber={
        "targets": _targets,
        "before": _before,
        "after": _after,
        "applied_as": _number_of("contexts"),
    },
    sentences=("title", "rationale"),
)
# What the space has been through: it comes back into an empty space, from an archive of our own.
RECORDS = [
    Kind("receipts", "Recall", renumber={"left_out": _left_out}),
    Kind("receipt_items", "RecallItem"),
    Kind("self_checks", "SelfCheck"),
    Kind("nights", "Night", app="sleep"),
    Kind("night_phases", "PhaseRun", app="sleep", renumber={"plan": _planned}),
    Kind(
        "night_changes",
        "NightChange",
        app="sleep",
        evidence=("evidence",),
        renumber={"context": _number_of("contexts")},
    ),
    Kind("reflections", "Reflection", app="sleep"),
    Kind("claims", "Claim", app="sleep"),
    PROPOSALS,
]
# Every earlier state of these rows; what is computed again for a row is kept as it was here.
HISTORY = [
    replace(
        kind,
        name=f"{kind.name}_history",
        model=f"{kind.model}Event",
        derived=("decided_by",) if kind is PROPOSALS else (),
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
    """The kind of row a foreign key points to, when the archive holds it."""
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

    Members are named; what grouped changes is counted in the order in which it is met.
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
    for column in _columns(kind.name):
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
        elif column.name in kind.renumber:
            values[column.attname] = value and kind.renumber[column.name](
                clean_json(value), numbers
            )
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
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, date | Decimal) else value


def _value(column: models.Field, value: object) -> object:
    if value is None:
        if column.null:
            return None
        raise BadRow(column.name)
    read = next((read for known, read in _READERS if isinstance(column, known)), None)
    found = read(column, value) if read else None
    if found is None:
        raise BadRow(column.name)
    return found


def _to_text(column: models.Field, value: object) -> str | None:
    if not isinstance(value, str):
        return None
    said = text.clean(value, limit=MAX_TEXT)
    is_long = column.max_length is not None and len(said) > column.max_length
    is_odd = column.choices and said not in dict(column.flatchoices) and (said or not column.blank)
    return None if is_long or is_odd else said


def _to_number(column: models.Field, value: object) -> float | int | None:
    whole = isinstance(column, models.IntegerField)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return None
    return value if math.isfinite(value) and abs(value) <= MAX_INTEGER else None


def _to_day(column: models.Field, value: object) -> date | None:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return None


def _to_decimal(column: models.Field, value: object) -> Decimal | None:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def _to_list(column: ArrayField, value: object) -> list | None:
    if not isinstance(value, list):
        return None
    return [_value(column.base_field, each) for each in value]


# What reads a value for a column of this kind; None for one that does not fit.
_READERS: list[tuple[Any, Callable[[Any, Any], Any]]] = [
    (ArrayField, _to_list),
    (models.JSONField, lambda column, value: clean_json(value)),
    (models.DateTimeField, lambda _, value: parse_time(value) if isinstance(value, str) else None),
    (models.DateField, _to_day),
    (models.DecimalField, _to_decimal),
    (models.BooleanField, lambda column, value: value if isinstance(value, bool) else None),
    (models.IntegerField | models.FloatField, _to_number),
    (models.CharField | models.TextField, _to_text),
]
