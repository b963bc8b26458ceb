"""The events that triggers write: one a changed row, read as the row before and after."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.apps import apps
from django.db import models

# Bookkeeping that later, unrelated changes also touch: never a reason to refuse an undo.
BOOKKEEPING = {"updated_at", "last_seen_at", "times_seen"}
TRACKED = (
    "Space",
    "Fact",
    "Episode",
    "Pattern",
    "WorkingNote",
    "Chat",
    "Ruling",
    "Identity",
    "Rule",
    "Preference",
)


@dataclass(frozen=True)
class Change:
    """One row before and after one change. `before` is None when the change created it."""

    model: type[models.Model]
    object_id: int
    event_id: int
    at: datetime
    context_id: UUID | None
    by: str
    why: str
    metadata: dict
    before: dict | None
    after: dict

    @property
    def is_create(self) -> bool:
        return self.before is None

    @property
    def fields(self) -> dict[str, tuple[object, object]]:
        """What changed, as {field: (before, after)}, without bookkeeping."""
        if self.before is None:
            return {}
        differing = changed(self.before, self.after)
        return {name: pair for name, pair in differing.items() if name not in BOOKKEEPING}


def as_changes(events: Iterable[models.Model]) -> list[Change]:
    """Pair each event with the one before it of the same row; expects them in that order."""
    found: list[Change] = []
    for event in events:
        after = _snapshot(event)
        last = found[-1] if found and found[-1].object_id == event.pgh_obj_id else None
        found.append(_change(event, before=last.after if last else None, after=after))
    return found


def _change(event: models.Model, *, before: dict | None, after: dict) -> Change:
    metadata = event.pgh_context.metadata if event.pgh_context else {}
    return Change(
        model=event.pgh_tracked_model,
        object_id=event.pgh_obj_id,
        event_id=event.pgh_id,
        at=event.pgh_created_at,
        context_id=event.pgh_context_id,
        by=metadata.get("by", ""),
        why=metadata.get("why", ""),
        metadata=metadata,
        before=before,
        after=after,
    )


def _snapshot(event: models.Model) -> dict:
    return {
        field.attname: getattr(event, field.attname)
        for field in event._meta.fields
        if not field.name.startswith("pgh_") and field.name != "id"
    }


def events_of(model: type[models.Model]) -> models.QuerySet:
    return apps.get_model("memory", f"{model.__name__}Event")._default_manager.all()


def event_models() -> list[type[models.Model]]:
    """Every table of events, of whichever app."""
    return [model for model in apps.get_models() if hasattr(model, "pgh_tracked_model")]


def erase_space(space_id: int) -> None:
    """Delete what triggers kept of all rows of a space. For erasing the space only."""
    for model in event_models():
        names = {field.name for field in model._meta.fields}
        if "space" in names:
            model._default_manager.filter(space_id=space_id).delete()
        elif model.pgh_tracked_model._meta.model_name == "space":
            model._default_manager.filter(pgh_obj_id=space_id).delete()


def tracked_models() -> list[type[models.Model]]:
    return [apps.get_model("memory", name) for name in TRACKED]


def changed(before: dict, after: dict) -> dict[str, tuple[object, object]]:
    return {name: (before[name], after[name]) for name in after if before[name] != after[name]}
