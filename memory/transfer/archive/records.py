"""Restore what a space has been through: history, receipts, nights and proposals.

Only into an empty space, and only from an archive that this installation sealed: a stranger's could
tell a false history, and rows that were here already have their own.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from django.db import DataError, IntegrityError, connection, transaction

from memory.models import Space
from memory.transfer.archive import files as reading
from memory.transfer.archive import rows
from memory.transfer.archive.rows import CONTEXTS, HISTORY, RECORDS, Kind
from memory.transfer.readers.json_values import parse_time
from memory.transfer.reports import Verdict

if TYPE_CHECKING:
    from memory.transfer.archive.restore import Restore

BATCH = 500
RESERVE = """
SELECT nextval(pg_get_serial_sequence(%s, 'pgh_id')) FROM generate_series(1, %s) ORDER BY 1
"""
CONTEXT = """
INSERT INTO pghistory_context (id, created_at, updated_at, metadata)
SELECT id, at, at, told::jsonb
FROM unnest(%s::uuid[], %s::timestamptz[], %s::text[]) AS made (id, at, told)
"""
# Django dates a new state by itself: these were written then.
DATE = """
UPDATE {table} SET pgh_created_at = made.at
FROM unnest(%s::bigint[], %s::timestamptz[]) AS made (id, at) WHERE pgh_id = made.id
"""
# What has a sum over ids of rows, such as a proposal, makes it anew; see sleep/apps.py.
SETTLE: list[Callable[[Space], None]] = []
# Rows that an undo of the import removes; the others go with them.
REMOVED = {
    "receipts": "memory.Recall",
    "nights": "sleep.Night",
    "claims": "sleep.Claim",
    "proposals": "sleep.Proposal",
}


class Records:
    """Made before the rows of memory arrive, so that their past gets lower ids than the arrival."""

    def __init__(self, restore: "Restore"):
        self.restore, self.space = restore, restore.session.space
        self.numbers = restore.numbers
        self.numbers |= {kind.name: {} for kind in RECORDS}
        self.ids = {kind.name: self._reserved(kind) for kind in HISTORY}

    def run(self) -> None:
        contexts = list(self._lines(CONTEXTS))
        made = {data["id"]: uuid4() for data in contexts if _is_context(data)}
        self.restore.contexts = made
        for kind in RECORDS:
            self._take(kind)
        self._write_contexts(contexts, made)
        for kind in HISTORY:
            self._take(kind)
        for settle in SETTLE:
            settle(self.space)
        for name, label in REMOVED.items():
            self.restore.session.made_records[label] = list(self.numbers[name].values())

    def _reserved(self, kind: Kind) -> Iterator[int]:
        """Ids for earlier states, below those of the rows that arrive after them."""
        with connection.cursor() as cursor:
            cursor.execute(RESERVE, [kind.table._meta.db_table, self._count(kind)])
            return iter([pk for (pk,) in cursor.fetchall()])

    def _count(self, kind: Kind) -> int:
        members = self.restore.manifest["members"]
        return sum(member["rows"] for member in members if member["kind"] == kind.name)

    def _lines(self, kind: Kind) -> Iterator[Any]:
        restore = self.restore
        found = reading.rows(restore.tree, restore.manifest, kind.name)
        for _name, _line, data in found:
            yield data

    def _take(self, kind: Kind) -> None:
        lines, taken, bad = self._lines(kind), 0, 0
        while batch := list(islice(lines, BATCH)):
            made = []
            for data in batch:
                try:
                    made.append((data["id"], self._row(kind, data)))
                except (rows.BadRow, KeyError, TypeError, ValueError):
                    bad += 1
            kept = self._insert(kind, made)
            taken, bad = taken + len(kept), bad + len(made) - len(kept)
            if not kind.is_history:
                self.numbers[kind.name] |= {number: row.pk for number, row in kept}
            self.restore.told(len(batch), kind.name)
        report, where = self.restore.session.report, f"{kind.name}.jsonl"
        if taken:
            report.add(where, "record", Verdict.TAKEN, count=taken)
        if bad:
            report.add(where, "record", Verdict.SKIPPED, reason="bad row", count=bad)

    def _row(self, kind: Kind, data: dict) -> Any:
        values = rows.decode(kind, data, self.restore.number)
        if kind.way == "space":
            values["space"] = self.space
        if kind.is_history:
            values["pgh_id"] = next(self.ids[kind.name])
            # Where everything is kept of a row, its id is, too.
            if any(column.name == "id" for column in kind.table._meta.concrete_fields):
                values["id"] = values["pgh_obj_id"]
        if kind.name in ("nights", "night_phases") and values.get("status") == "running":
            # It stopped when the archive was written; here it can be gone on with.
            values["status"] = "failed"
        return kind.table(**values)

    def _insert(self, kind: Kind, made: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        dates = {row.pk: row.pgh_created_at for _number, row in made} if kind.is_history else {}
        made = insert_all(kind, made)
        if dates:
            with connection.cursor() as cursor:
                statement = DATE.format(table=kind.table._meta.db_table)
                cursor.execute(statement, [list(dates), list(dates.values())])
        return made

    def _write_contexts(self, contexts: list[Any], made: dict[int, UUID]) -> None:
        good = [data for data in contexts if _is_context(data)]
        told: list[Any] = [rows.clean_json(one["metadata"]) for one in good]
        values: list[Any] = [
            [made[one["id"]] for one in good],
            [parse_time(one["at"]) for one in good],
            [json.dumps(rows.metadata(one, self.restore.number)) for one in told],
        ]
        with connection.cursor() as cursor:
            cursor.execute(CONTEXT, values)
        self.restore.told(len(contexts), CONTEXTS.name)


def insert_all(
    kind: Kind, made: list[Any], *, refused: Callable[[Any, Exception], object] | None = None
) -> list[Any]:
    """Insert the rows, each the last of its tuple, one by one when together they cannot be."""
    with suppress(IntegrityError, DataError), transaction.atomic():
        kind.table._base_manager.bulk_create([one[-1] for one in made])
        return made
    kept = []
    for one in made:
        if not kind.is_history:
            one[-1].pk = None
        try:
            with transaction.atomic():
                one[-1].save(force_insert=True)
            kept.append(one)
        except (IntegrityError, DataError) as error:
            if refused:
                refused(one, error)
    return kept


def _is_context(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and isinstance(data.get("id"), int)
        and isinstance(data.get("metadata"), dict)
        and parse_time(data.get("at")) is not None
    )
