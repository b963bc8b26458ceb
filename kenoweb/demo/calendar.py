"""What is stamped with the real clock while a demo is made gets the time it stands for."""

import datetime as dt

import pgtrigger
from django.apps import apps
from django.db import connection, models
from django.utils import timezone

from memory.models import AuditEntry, Space
from sleep.models import PhaseRun

# What later days ask the age of; everything else waits for the end.
ASKED = {"fact", "pattern", "ruling", "proposal"}
MOVE = """
WITH mark AS (SELECT mark.*, %s::interval AS skew FROM
    unnest(%s::timestamptz[], %s::timestamptz[], %s::timestamptz[]) AS mark (began, ended, at))
UPDATE {table} SET {moves} WHERE {mine} AND greatest({columns}) >= '{first}'
"""
MOVED = """
{column} = CASE WHEN {column} >= '{first}' THEN coalesce((
    SELECT at + ({column} - began{skew}) FROM mark
    WHERE {column}{skew} >= began AND {column}{skew} < ended), {column}) ELSE {column} END
"""
# A talk is one moment to the real clock.
MOMENT = dt.timedelta(minutes=10)


class Calendar:
    """Remembers which real moment stood for which one of the story."""

    def __init__(self, space: Space):
        self.space = space
        self.marks: list[tuple[dt.datetime, dt.datetime]] = []
        # From which mark on the kinds that later days ask for have to be moved.
        self.open = 0
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            # History is dated by the database, whose clock may be another machine's.
            self.skew = cursor.fetchone()[0] - timezone.now()

    def turn_to(self, at: dt.datetime) -> None:
        """From here on it is then."""
        if not self.marks or abs(at - self.marks[-1][1]) > MOMENT:
            self.marks.append((timezone.now(), at))

    def settle(self, *, only: set[str] | None = None) -> None:
        """Move the stamps, of these kinds of rows or of all; one that was moved stays."""
        marks = self.marks[self.open :] if only else self.marks
        self.open = len(self.marks) - 1
        if not marks:
            return
        began, at = (list(some) for some in zip(*marks, strict=True))
        # Written out once, not for every table.
        spans = [_array(some) for some in (began, [*began[1:], timezone.now()], at)]
        given, first = [self.skew, *spans, self.space.pk], began[0] - abs(self.skew)
        # The rows and their history move together, so nothing of it is a change to be kept.
        with pgtrigger.ignore(), connection.cursor() as cursor:
            for model in _models(only):
                if statement := _statement(model, first=first.isoformat()):
                    cursor.execute(statement, given)


def _array(moments: list[dt.datetime]) -> str:
    return "{" + ",".join(moment.isoformat() for moment in moments) + "}"


def _statement(model: type[models.Model], *, first: str) -> str:
    stamps = [field for field in model._meta.fields if isinstance(field, models.DateTimeField)]
    if not stamps:
        return ""
    moves = [
        MOVED.format(
            column=f'"{field.column}"',
            skew=" - skew" if field.name == "pgh_created_at" else "",
            first=first,
        )
        for field in stamps
    ]
    columns = ", ".join(f'"{field.column}"' for field in stamps)
    named = {"table": f'"{model._meta.db_table}"', "columns": columns, "first": first}
    return MOVE.format(moves=", ".join(moves), mine=_mine(model), **named)


def _models(only: set[str] | None) -> list[type[models.Model]]:
    found = [model for model in apps.get_models() if _mine(model) and model is not AuditEntry]
    return [model for model in found if only is None or _kind(model) in only]


def _kind(model: type[models.Model]) -> str:
    return getattr(model, "pgh_tracked_model", model)._meta.model_name


def _mine(model: type[models.Model]) -> str:
    """Which rows of a table belong to the space; empty for tables of everybody."""
    if any(field.name == "space" for field in model._meta.fields):
        return "space_id = %s"
    if model is PhaseRun:
        return "night_id IN (SELECT id FROM sleep_night WHERE space_id = %s)"
    return "pgh_obj_id = %s" if _kind(model) == "space" and model is not Space else ""
