"""Change one locked row under one history change; the caller's copy is refreshed."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import models, transaction
from django.utils import timezone

from memory.history import actors, audit
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models.prepared import prepared, save_fields


def lock(row: models.Model) -> None:
    """Lock the row until the transaction ends, and refresh it."""
    model: Any = type(row)
    locked = _locked(model=model, pk=row.pk)
    if not locked:
        raise model.DoesNotExist(f"{model.__name__} {row.pk} is gone.")
    for field in model._meta.concrete_fields:
        value = getattr(locked[0], field.attname)
        if field.is_relation and getattr(row, field.attname) != value:
            field.delete_cached_value(row)
        setattr(row, field.attname, value)


@prepared(pk="bigint")
def _locked(model, pk):
    return model._default_manager.select_for_update().filter(pk=pk)


def change(
    row: models.Model, *, by: str, why: str, now: datetime | None = None, **values: Any
) -> ChangeResult:
    """Write the values that differ to a locked row."""
    values = {name: value for name, value in values.items() if getattr(row, name) != value}
    if not values:
        return ChangeResult(row, outcome="unchanged")
    if hasattr(row, "updated_at"):
        values["updated_at"] = now or timezone.now()
    with history.change(by=by, why=why) as context:
        for name, value in values.items():
            setattr(row, name, value)
        save_fields(row, *values)
    return ChangeResult(row, context.id)


@transaction.atomic
def change_unless_refused(
    row: models.Model,
    *,
    by: str,
    why: str,
    now: datetime | None = None,
    refuse: Callable[[models.Model], ChangeResult | None] = lambda row: None,
    **values: Any,
) -> ChangeResult:
    """Lock the row and change it, unless `refuse` returns a refusal."""
    lock(row)
    refusal = refuse(row)
    return change(row, by=by, why=why, now=now, **values) if refusal is None else refusal


@transaction.atomic
def purge(row: Any, *, by: str) -> None:
    """Delete the row for good, with its history; the audit keeps nothing of its words."""
    name = row._meta.model_name
    audit.record(f"{name}.purged", actor=by, space=row.space, obj=row)
    history.erase(row)
    row.delete()


def refusal_if_sticky(row: Any, *, by: str, reason: str) -> ChangeResult | None:
    """Return a refusal when a machine would change what a person worded."""
    if row.sticky and not actors.is_person(by):
        return ChangeResult(row, outcome="refused", reason=reason)
    return None
