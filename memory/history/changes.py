"""Read and undo the changes that the database keeps of every tracked row.

Triggers write one event per changed row, grouped by a context that names who and why."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

import pghistory
from django.apps import apps
from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pghistory.runtime import _execute_wrapper, _tracker
from psycopg.pq import TransactionStatus

# Bookkeeping that later, unrelated changes also touch: never a reason to refuse an undo.
BOOKKEEPING = {"updated_at", "last_seen_at", "times_seen"}
# A history shows these, but they are no reason either.
NEVER_A_CONFLICT = BOOKKEEPING | {"confirmed_at"}
NO_CONTEXT = "SELECT set_config('pghistory.context_id', '', true)"
READING_STATEMENTS = ("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK")


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
        """Return what changed as {field: (before, after)}, without bookkeeping."""
        if self.before is None:
            return {}
        differing = changed(self.before, self.after)
        return {name: pair for name, pair in differing.items() if name not in BOOKKEEPING}


def as_changes(events: Iterable[Any]) -> list[Change]:
    """Pair each event with the one before it of the same row; expects them in that order.

    A row that came back with an archive was created twice: there, and on its arrival here.
    """
    changes: list[Change] = []
    for event in events:
        last = changes[-1] if changes and changes[-1].object_id == event.pgh_obj_id else None
        before = last.after if last and event.pgh_label != "insert" else None
        changes.append(_change(event, before=before))
    return changes


def _change(event: Any, *, before: dict | None) -> Change:
    metadata = event.pgh_context.metadata if event.pgh_context else {}
    fields = [f for f in event._meta.fields if not f.name.startswith("pgh_") and f.name != "id"]
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
        after={field.attname: getattr(event, field.attname) for field in fields},
    )


def events_of(model: type[models.Model]) -> models.QuerySet:
    return apps.get_model("memory", f"{model.__name__}Event")._default_manager.all()


def event_models() -> list[Any]:
    return [model for model in apps.get_models() if hasattr(model, "pgh_tracked_model")]


def erase_space(space_id: int, *, chats: list[int]) -> None:
    """Delete the history of all rows of a space and of its chats. For erasing the space only."""
    events_of(apps.get_model("memory", "Chat")).filter(pgh_obj_id__in=chats).delete()
    for model in event_models():
        names = {field.name for field in model._meta.fields}
        if "space" in names:
            model._default_manager.filter(space_id=space_id).delete()
        elif model.pgh_tracked_model._meta.model_name == "space":
            model._default_manager.filter(pgh_obj_id=space_id).delete()


def tracked_models() -> list[type[models.Model]]:
    mine = (model for model in event_models() if model._meta.app_label == "memory")
    return [model.pgh_tracked_model for model in mine]


def changed(before: dict, after: dict) -> dict[str, tuple[object, object]]:
    """Return the fields that differ as {field: (before, after)}."""
    return {name: (before[name], after[name]) for name in after if before[name] != after[name]}


class Conflict(Exception):
    """The row was changed again since, so the change cannot be undone."""

    def __init__(self, differs: dict[str, tuple[object, object]]):
        self.differs = differs
        super().__init__(_("It was changed again since. Look at its history and decide there."))


@dataclass(frozen=True)
class ChangeResult:
    """What a writer did, and the id that undoes it.

    `change_id` goes to undo_context(); it is None when nothing was changed. `outcome` is one word
    ("new", "again", "refused" …) and `reason` a sentence when the outcome needs one.
    """

    row: Any
    change_id: UUID | None = None
    outcome: str = "done"
    reason: str = ""
    # How many rows, for writers that change many.
    count: int = 0

    @property
    def changed(self) -> bool:
        return self.change_id is not None

    def __bool__(self) -> bool:
        return self.changed


@contextmanager
def change(*, by: str, why: str, **metadata: Any) -> Iterator[Any]:
    """Group everything written inside as one change; undo_context() takes its `id`.

    Inside an outer change (a night, an import) everything belongs to the outer one, with its
    `by` and `why`.
    """
    outer = getattr(_tracker, "value", None)
    inherited = dict(outer.metadata) if outer else {}
    try:
        with pghistory.context(**{"by": by, "why": why} | metadata | inherited) as context:
            yield context
    finally:
        # The triggers read the context from a setting that lives until the transaction ends. The
        # next write clears it: without such a write that saves a statement.
        wrappers = connection.execute_wrappers
        is_left = outer is None and connection.in_atomic_block
        if is_left and _write_without_context not in wrappers:
            wrappers.insert(0, _write_without_context)


def _write_without_context(execute: Any, sql: Any, params: Any, many: bool, context: dict) -> Any:
    """Run a statement; clear the context before the first write that belongs to no change."""
    if hasattr(_tracker, "value") or str(sql).lstrip().upper().startswith(READING_STATEMENTS):
        return execute(sql, params, many, context)
    connection.execute_wrappers.remove(_write_without_context)
    if connection.connection.info.transaction_status != TransactionStatus.INTRANS:
        return execute(sql, params, many, context)
    if many or not isinstance(sql, str):
        connection.connection.execute(NO_CONTEXT)
        return execute(sql, params, many, context)
    return _execute_wrapper(execute(f"{NO_CONTEXT}; {sql}", params, many, context))


def history(row: models.Model, *, limit: int | None = None) -> list[Change]:
    """Return the changes of one row, newest first; at most `limit` of them."""
    events = events_of(type(row)).filter(pgh_obj_id=row.pk).select_related("pgh_context")
    # One more than asked for: each is compared with the one before it.
    latest = events.order_by("-pgh_id")[: limit + 1 if limit else None]
    return as_changes(reversed(list(latest)))[::-1][:limit]


def changes_in(*context_ids: UUID | str) -> list[Change]:
    """Return every change of these contexts, oldest first."""
    ids = {str(context_id) for context_id in context_ids}
    changes: list[Change] = []
    for model in _models_changed_in(ids):
        touched = events_of(model).filter(pgh_context_id__in=ids).values("pgh_obj_id")
        rows = events_of(model).filter(pgh_obj_id__in=touched).select_related("pgh_context")
        steps = as_changes(rows.order_by("pgh_obj_id", "pgh_id"))
        changes += [step for step in steps if str(step.context_id) in ids]
    return sorted(changes, key=lambda step: (step.at, step.event_id))


def _models_changed_in(context_ids: set[str]) -> list[type[models.Model]]:
    """Return the models that these contexts changed, by one query: mostly one of ten."""
    if not context_ids:
        return []
    tracked = tracked_models()
    ids = [models.UUIDField().to_python(context_id) for context_id in context_ids]
    # Raw SQL: composing a union of ten querysets takes longer than the queries that follow.
    exists = "EXISTS (SELECT 1 FROM {} WHERE pgh_context_id = ANY(%s::uuid[]))"
    columns = ", ".join(exists.format(events_of(model).model._meta.db_table) for model in tracked)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns}", [ids] * len(tracked))
        return [model for model, has in zip(tracked, cursor.fetchone(), strict=True) if has]


def as_of(queryset: models.QuerySet, when: datetime) -> models.QuerySet:
    """Return the rows of the queryset as they were at that time.

    The queryset chooses the rows (of a space, of a chat); filter the result by their old values.
    """
    events = events_of(queryset.model).filter(pgh_created_at__lte=when)
    later = events.filter(
        pgh_obj_id=models.OuterRef("pgh_obj_id"), pgh_id__gt=models.OuterRef("pgh_id")
    )
    return events.filter(~models.Exists(later), pgh_obj_id__in=queryset.values("pk"))


def undo(step: Change, *, by: str) -> models.Model:
    """Put the row back as it was before this change. A second undo changes nothing."""
    with transaction.atomic(), change(by=by, why="undo", undoes=step.event_id):
        row = step.model._default_manager.select_for_update().get(pk=step.object_id)
        goal = _values_to_restore(row, before=step.before, after=step.after)
        return _write(row, goal) if goal else row


def undo_context(context_id: UUID | str, *, by: str, later_too: bool = False) -> list[models.Model]:
    """Undo everything one context changed, or nothing; with `later_too` also later changes."""
    return undo_contexts([context_id], by=by, later_too=later_too)


def undo_contexts(
    context_ids: Iterable[UUID | str], *, by: str, later_too: bool = False
) -> list[models.Model]:
    """Undo everything these contexts changed together, or nothing at all."""
    ids = [str(item) for item in context_ids]
    # Last changed first: a row that replaced another one goes before that one returns.
    spans = sorted(_spans(changes_in(*ids)).items(), key=lambda item: -item[1][-1].event_id)
    with transaction.atomic(), change(by=by, why="undo", undoes_context=" ".join(ids)):
        return _revert_all(spans, later_too=later_too)


def _spans(steps: Iterable[Change]) -> dict[tuple[type[models.Model], int], list[Change]]:
    spans: dict[tuple[type[models.Model], int], list[Change]] = {}
    for step in steps:
        spans.setdefault((step.model, step.object_id), []).append(step)
    return spans


def changed_since(steps: Iterable[Change]) -> dict[tuple[type[models.Model], int], models.Model]:
    """Return the rows that prevent undoing these changes, as they are now."""
    spans, conflicting = _spans(steps), {}
    for model in {model for model, _pk in spans}:
        pks = [pk for owner, pk in spans if owner is model]
        for row in model._default_manager.filter(pk__in=pks):
            span = spans[model, row.pk]
            try:
                _values_to_restore(row, before=span[0].before, after=span[-1].after)
            except Conflict:
                conflicting[model, row.pk] = row
    return conflicting


def redo_context(context_id: UUID | str, *, by: str) -> list[models.Model]:
    """Apply again what an undo of this context reverted; rows it had created are live again."""
    with transaction.atomic(), change(by=by, why="redo", redoes_context=str(context_id)):
        last = {(step.model, step.object_id): step.after for step in changes_in(context_id)}
        return [_restore(model, pk, after) for (model, pk), after in last.items()]


def _restore(model: type[models.Model], pk: int, after: dict) -> models.Model:
    row = model._default_manager.select_for_update().get(pk=pk)
    goal = {name: value for name, value in after.items() if getattr(row, name) != value}
    return _write(row, goal) if goal else row


def erase(row: models.Model) -> None:
    """Delete the row's whole history. For purge and erase only."""
    events_of(type(row)).filter(pgh_obj_id=row.pk).delete()


def _revert_all(spans: list[tuple[tuple, list[Change]]], *, later_too: bool) -> list[models.Model]:
    """Revert the rows of the spans in this order; write nothing when one conflicts."""
    rows = _locked([key for key, _steps in spans])
    pairs = []
    for key, steps in spans:
        before, after = steps[0].before, steps[-1].after
        goal = _values_to_restore(rows[key], before=before, after=after, later_too=later_too)
        pairs.append((rows[key], goal))
    changing = (pair for pair in pairs if pair[1])
    for _fields, group in groupby(changing, key=lambda pair: (type(pair[0]), sorted(pair[1]))):
        _write_all(list(group))
    return [row for row, _goal in pairs]


def _locked(keys: list[tuple[type[models.Model], int]]) -> dict[tuple, models.Model]:
    """Lock the rows, one query per model, in one order, so that two undos wait for each other."""
    locked: dict[tuple, models.Model] = {}
    for model in {model for model, _pk in keys}:
        pks = [pk for owner, pk in keys if owner is model]
        rows = model._default_manager.select_for_update().filter(pk__in=pks).order_by("pk")
        locked |= {(model, row.pk): row for row in rows}
        if gone := set(pks) - {row.pk for row in rows}:
            raise ObjectDoesNotExist(f"{model._meta.verbose_name} {min(gone)} is gone.")
    return locked


def _values_to_restore(
    row: models.Model, *, before: dict | None, after: dict, later_too: bool = False
) -> dict:
    """Return the values that revert the row; empty when it has them already."""
    now = {name: getattr(row, name) for name in after}
    goal = _goal(type(row), before=before, after=after)
    if all(now[name] == value for name, value in goal.items() if name not in BOOKKEEPING):
        return {}
    # An undone creation must be untouched as a whole; an undone edit only where it edited.
    watched = after if before is None else goal
    differs = {
        name: (after[name], now[name])
        for name in watched
        if name not in NEVER_A_CONFLICT and now[name] != after[name]
    }
    if differs and not later_too:
        raise Conflict(differs)
    if "updated_at" in goal and now["updated_at"] != after["updated_at"]:
        goal["updated_at"] = timezone.now()
    return goal


def _goal(model: Any, *, before: dict | None, after: dict) -> dict:
    """Return the values before the change; a created row gets its model's soft end state."""
    if before is not None:
        return {name: was for name, (was, _) in changed(before, after).items()}
    goal = dict(model.UNDO_CREATE)
    for stamp in ("trashed_at", "discarded_at"):
        if stamp in after and "status" in goal:
            goal[stamp] = timezone.now()
    return goal


def _write_all(pairs: list[tuple[models.Model, dict]]) -> None:
    """Write (row, values) pairs of one model with the same fields, thousands in few statements."""
    rows = [row for row, _goal in pairs]
    if len(rows) > 1 and not hasattr(rows[0], "reverted"):
        for row, goal in pairs:
            _set_values(row, goal)
        names = _field_names(*pairs[0])
        try:
            with transaction.atomic():
                type(rows[0])._default_manager.bulk_update(rows, names, batch_size=500)
            return
        except IntegrityError:
            pass  # one after the other they may still pass, or one says why not
    for row, goal in pairs:
        _write(row, goal)


def _set_values(row: models.Model, goal: dict) -> None:
    for name, value in goal.items():
        setattr(row, name, value)


def _write(row: models.Model, goal: dict) -> models.Model:
    _set_values(row, goal)
    try:
        with transaction.atomic():
            row.save(update_fields=_field_names(row, goal))
            if hasattr(row, "reverted"):
                row.reverted()
    except IntegrityError as error:
        # The same was remembered again meanwhile: a live row already says it.
        raise Conflict({"text": (str(row), "another live row says the same")}) from error
    return row


def _field_names(row: models.Model, goal: dict) -> list[str]:
    return [row._meta.get_field(name.removesuffix("_id")).name for name in goal]
