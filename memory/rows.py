"""Changing one row: locked, under one history change, with the caller's copy brought up to date."""

from collections.abc import Callable
from datetime import datetime

from django.db import models, transaction
from django.utils import timezone

from memory import actors, audit, history
from memory.history import Done


def lock(row: models.Model) -> None:
    """Hold the row until the transaction ends and see it as it is now."""
    row.refresh_from_db(from_queryset=type(row)._default_manager.select_for_update())


def change(row: models.Model, *, by: str, why: str, now: datetime | None, **values: object) -> Done:
    """Write what differs of these fields of a locked row; nothing when nothing does."""
    values = {name: value for name, value in values.items() if getattr(row, name) != value}
    if not values:
        return Done(row, outcome="unchanged")
    values["updated_at"] = now or timezone.now()
    with history.change(by=by, why=why) as context:
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=list(values))
    return Done(row, context.id)


@transaction.atomic
def guarded(
    row: models.Model,
    *,
    by: str,
    why: str,
    now: datetime | None = None,
    may: Callable[[models.Model], Done | None] = lambda row: None,
    **values: object,
) -> Done:
    """Lock, ask `may` whether it must not be, change."""
    lock(row)
    refusal = may(row)
    return change(row, by=by, why=why, now=now, **values) if refusal is None else refusal


@transaction.atomic
def purge(row: models.Model, *, by: str, words: str) -> None:
    """Delete it for good, with its history; the audit keeps a digest of its words."""
    name = row._meta.model_name
    audit.record(f"{name}.purged", actor=by, space=row.space, thing=row, before=words)
    history.erase(row)
    row.delete()


def worded_by(row: models.Model, *, by: str, reason: str) -> Done | None:
    """A refusal when a machine would touch what a person worded."""
    if row.sticky and not actors.is_person(by):
        return Done(row, outcome="refused", reason=reason)
    return None
