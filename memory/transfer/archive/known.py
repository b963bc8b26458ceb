"""Which rows of an archive the space has already: found by what makes them the same."""

from collections.abc import Callable, Hashable, Iterable

from django.db import models

from memory import text
from memory.models import (
    Chat,
    Episode,
    Fact,
    Identity,
    Message,
    Pattern,
    Preference,
    Rule,
    Ruling,
    Space,
    WorkingNote,
)

Key = Callable[[models.Model], Hashable]


def find(
    name: str, space: Space, made: list[models.Model], last: int
) -> dict[Hashable, models.Model]:
    """Rows of the space up to number `last` under their keys, as far as these may meet them."""
    rows = _candidates(name, space, made).filter(pk__lte=last)
    found: dict[Hashable, models.Model] = {}
    for row in rows.order_by("-pk") if made else ():
        held = found.get(key_of(name, row))
        # A living row says more than one that was put away.
        if held is None or _alive(row) >= _alive(held):
            found[key_of(name, row)] = row
    return found


def key_of(name: str, row: models.Model) -> Hashable:
    return _KEYS[name](row)


def _alive(row: models.Model) -> bool:
    return getattr(row, "status", "active") in ("active", "open", "closed", "quarantined")


def _values(made: Iterable[models.Model], field: str) -> set:
    return {getattr(row, field) for row in made}


def _candidates(name: str, space: Space, made: list[models.Model]) -> models.QuerySet:
    table, field = _LOOKUP[name]
    rows = table._base_manager.filter(space=space)
    return rows.filter(**{f"{field}__in": _values(made, field)}) if field else rows


def _words(row: Episode) -> str:
    return text.said_key(f"{row.title}\n{row.body}")


_LOOKUP: dict[str, tuple[type[models.Model], str]] = {
    "chats": (Chat, "external_id"),
    "episodes": (Episode, "started_at"),
    "messages": (Message, "external_id"),
    "facts": (Fact, "said_key"),
    "patterns": (Pattern, "trigger"),
    "working_notes": (WorkingNote, "chat_id"),
    "identity": (Identity, ""),
    "rules": (Rule, "slug"),
    "preferences": (Preference, "key"),
    "rulings": (Ruling, "said_key"),
}
_KEYS: dict[str, Key] = {
    "chats": lambda row: (row.channel, row.external_id),
    "episodes": lambda row: (
        row.chat_id,
        row.started_at,
        text.said_key(f"{row.title}\n{row.body}"),
    ),
    "messages": lambda row: (row.chat_id, row.external_id),
    "facts": lambda row: (row.chat_id, row.subject, row.said_key),
    "patterns": lambda row: (row.chat_id, row.trigger, row.response),
    "working_notes": lambda row: row.chat_id,
    "identity": lambda row: 1,
    "rules": lambda row: row.slug,
    "preferences": lambda row: (row.section, row.key, row.value),
    "rulings": lambda row: (row.kind, row.said_key, row.fact_id),
}
