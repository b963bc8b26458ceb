"""Every change to memory is kept by the database; here it is read, dated and taken back.

Triggers write one event per changed row, grouped by a context that names who and why.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from uuid import UUID

import pghistory
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone
from pghistory.runtime import _tracker
from psycopg.pq import TransactionStatus

from memory.events import BOOKKEEPING, Change, as_changes, changed, events_of, tracked_models


class Conflict(Exception):
    """It was changed again since, so it cannot be taken back as it was."""

    def __init__(self, differs: dict[str, tuple[object, object]]):
        self.differs = differs
        names = ", ".join(sorted(differs))
        super().__init__(f"Changed again since ({names}). Look at its history and decide there.")


@dataclass(frozen=True)
class Done:
    """What a writer did, and what takes it back.

    `change_id` goes to undo_context(); it is None when nothing was changed. `outcome` is one word
    ("new", "again", "refused" …) and `reason` a sentence when the outcome needs one.
    """

    row: models.Model | None
    change_id: UUID | None = None
    outcome: str = "done"
    reason: str = ""
    # How many rows, for writers that change many.
    count: int = 0

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return self.change_id is not None

    def __bool__(self) -> bool:
        return self.changed


@contextmanager
def change(*, by: str, why: str, **metadata: object) -> Iterator[pghistory.context]:
    """Group what happens inside as one change. Its `id` is what undo_context() takes.

    Inside a bigger change (a night, an import) everything belongs to that one, and so do its
    who and why.
    """
    outer = getattr(_tracker, "value", None)
    named = dict(outer.metadata) if outer else {}
    try:
        with pghistory.context(**{"by": by, "why": why} | metadata | named) as context:
            yield context
    finally:
        if outer is None:
            _forget_context()


def _forget_context() -> None:
    """What the same transaction does later is not part of this change.

    The triggers read the context from a setting that lives until the transaction ends.
    """
    if not connection.in_atomic_block or connection.needs_rollback:
        return
    if connection.connection.info.transaction_status != TransactionStatus.INERROR:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('pghistory.context_id', '', true)")


def history(thing: models.Model, *, most: int | None = None) -> list[Change]:
    """The changes of one row, newest first; all of them, or so many."""
    events = events_of(type(thing)).filter(pgh_obj_id=thing.pk).select_related("pgh_context")
    # One more than asked for: each is compared with the one before it.
    latest = events.order_by("-pgh_id")[: most + 1 if most else None]
    return as_changes(reversed(list(latest)))[::-1][:most]


def changes_in(*context_ids: UUID | str) -> list[Change]:
    """Everything these contexts changed, oldest first."""
    wanted = {str(one) for one in context_ids}
    found = []
    for model in _touched(wanted):
        touched = events_of(model).filter(pgh_context_id__in=wanted).values("pgh_obj_id")
        rows = events_of(model).filter(pgh_obj_id__in=touched).select_related("pgh_context")
        found += [
            step
            for step in as_changes(rows.order_by("pgh_obj_id", "pgh_id"))
            if str(step.context_id) in wanted
        ]
    return sorted(found, key=lambda step: (step.at, step.event_id))


def _touched(context_ids: set[str]) -> list[type[models.Model]]:
    """Of which models there is something, asked in one go: mostly it is one of ten."""
    if not context_ids:
        return []
    tracked, ids = tracked_models(), [models.UUIDField().to_python(one) for one in context_ids]
    # By hand: to have a union of ten put together takes longer than all that is asked after it.
    one = "EXISTS (SELECT 1 FROM {} WHERE pgh_context_id = ANY(%s::uuid[]))"
    asked = ", ".join(one.format(events_of(model).model._meta.db_table) for model in tracked)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {asked}", [ids] * len(tracked))
        return [model for model, there in zip(tracked, cursor.fetchone(), strict=True) if there]


def as_of(queryset: models.QuerySet, when: datetime) -> models.QuerySet:
    """The rows of the queryset as they were at that time.

    The queryset says which rows (a space, a chat); filter what comes back by how they were then.
    """
    events = events_of(queryset.model).filter(pgh_created_at__lte=when)
    later = events.filter(
        pgh_obj_id=models.OuterRef("pgh_obj_id"), pgh_id__gt=models.OuterRef("pgh_id")
    )
    return events.filter(~models.Exists(later), pgh_obj_id__in=queryset.values("pk"))


def undo(step: Change, *, by: str) -> models.Model:
    """Put the row back as it was before this change. A second undo changes nothing."""
    with transaction.atomic(), change(by=by, why="undo", undoes=step.event_id):
        return _revert(step.model, step.object_id, before=step.before, after=step.after)


def undo_context(context_id: UUID | str, *, by: str) -> list[models.Model]:
    """Take back everything one context changed, or nothing at all."""
    return undo_contexts([context_id], by=by)


def undo_contexts(context_ids: Iterable[UUID | str], *, by: str) -> list[models.Model]:
    """Take back everything these contexts changed together, or nothing at all."""
    ids = [str(one) for one in context_ids]
    spans: dict[tuple[type[models.Model], int], list[Change]] = {}
    for step in changes_in(*ids):
        spans.setdefault((step.model, step.object_id), []).append(step)
    with transaction.atomic(), change(by=by, why="undo", undoes_context=" ".join(ids)):
        # Last changed first: what took another row's place leaves before that row returns.
        return _revert_all(sorted(spans.items(), key=lambda one: -one[1][-1].event_id))


def redo_context(context_id: UUID | str, *, by: str) -> list[models.Model]:
    """Bring back what a context did and an undo took away; what it created is live again."""
    with transaction.atomic(), change(by=by, why="redo", redoes_context=str(context_id)):
        last = {(step.model, step.object_id): step.after for step in changes_in(context_id)}
        return [_restore(model, pk, after) for (model, pk), after in last.items()]


def _restore(model: type[models.Model], pk: int, after: dict) -> models.Model:
    row = model._default_manager.select_for_update().get(pk=pk)
    now = {name: getattr(row, name) for name in after}
    differs = changed(now, after)
    return _write(row, {name: value for name, (_, value) in differs.items()}) if differs else row


def erase(thing: models.Model) -> None:
    """Delete the row's whole history. For purge and erase only."""
    events_of(type(thing)).filter(pgh_obj_id=thing.pk).delete()


def _revert(model: type[models.Model], pk: int, *, before: dict | None, after: dict):
    row = model._default_manager.select_for_update().get(pk=pk)
    goal = _way_back(row, before=before, after=after)
    return _write(row, goal) if goal else row


def _revert_all(spans: list[tuple[tuple, list[Change]]]) -> list[models.Model]:
    """The rows of the spans as they were before, in this order; nothing is written on conflict."""
    rows = _locked([key for key, _steps in spans])
    back = [
        (rows[key], _way_back(rows[key], before=steps[0].before, after=steps[-1].after))
        for key, steps in spans
    ]
    for _alike, some in groupby((one for one in back if one[1]), key=_shape):
        _write_all(list(some))
    return [row for row, _goal in back]


def _locked(keys: list[tuple[type[models.Model], int]]) -> dict[tuple, models.Model]:
    """The rows, one query a model, locked in one order: two who undo the same wait in line."""
    found = {}
    for model in {model for model, _pk in keys}:
        pks = [pk for one, pk in keys if one is model]
        rows = model._default_manager.select_for_update().filter(pk__in=pks).order_by("pk")
        found |= {(model, row.pk): row for row in rows}
        if gone := set(pks) - {row.pk for row in rows}:
            raise model.DoesNotExist(f"{model._meta.verbose_name} {min(gone)} is gone.")
    return found


def _shape(one: tuple[models.Model, dict]) -> tuple:
    row, goal = one
    return type(row), sorted(goal)


def _way_back(row: models.Model, *, before: dict | None, after: dict) -> dict:
    """What to write to take the row back; nothing when it is so already."""
    now = {name: getattr(row, name) for name in after}
    goal = _goal(type(row), before=before, after=after)
    if all(now[name] == value for name, value in goal.items() if name not in BOOKKEEPING):
        return {}
    # An undone creation must be untouched as a whole; an undone edit only where it edited.
    watched = after if before is None else goal
    differs = {
        name: (after[name], now[name])
        for name in watched
        if name not in BOOKKEEPING and now[name] != after[name]
    }
    if differs:
        raise Conflict(differs)
    if "updated_at" in goal and now["updated_at"] != after["updated_at"]:
        goal["updated_at"] = timezone.now()
    return goal


def _goal(model: type[models.Model], *, before: dict | None, after: dict) -> dict:
    """The values that take the row back; a created row goes to its model's soft end state."""
    if before is not None:
        return {name: was for name, (was, _) in changed(before, after).items()}
    goal = dict(model.UNDO_CREATE)
    for stamp in ("trashed_at", "discarded_at"):
        if stamp in after and "status" in goal:
            goal[stamp] = timezone.now()
    return goal


def _write_all(some: list[tuple[models.Model, dict]]) -> None:
    """Rows of one model whose goals name the same fields: a few statements for thousands."""
    if len(some) == 1 or hasattr(some[0][0], "reverted"):
        for row, goal in some:
            _write(row, goal)
        return
    for row, goal in some:
        _put(row, goal)
    rows = [row for row, _goal in some]
    try:
        with transaction.atomic():
            type(rows[0])._default_manager.bulk_update(rows, _field_names(*some[0]), batch_size=500)
    except IntegrityError:  # one after the other they may still pass, or one says why not
        for row, goal in some:
            _write(row, goal)


def _put(row: models.Model, goal: dict) -> None:
    for name, value in goal.items():
        setattr(row, name, value)


def _write(row: models.Model, goal: dict) -> models.Model:
    _put(row, goal)
    try:
        with transaction.atomic():
            row.save(update_fields=_field_names(row, goal))
            if hasattr(row, "reverted"):
                row.reverted()
    except IntegrityError as error:
        # Somebody said the same again meanwhile: the place in the live rows is taken.
        raise Conflict({"text": (str(row), "another live row says the same")}) from error
    return row


def _field_names(row: models.Model, goal: dict) -> list[str]:
    return [row._meta.get_field(name.removesuffix("_id")).name for name in goal]
