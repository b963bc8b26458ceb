"""Restore an archive: the same rows with the same links, in an empty or a used space.

History, receipts, nights and proposals come back only into an empty space, and only from an archive
that this installation sealed: a stranger could forge a history, and rows that are here already have
their own.
"""

import json
from collections.abc import Callable, Hashable, Iterator, Set
from contextlib import suppress
from itertools import islice
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import available_timezones

from django.conf import settings
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import Max

from memory import notices, options, rulings
from memory.guards.screening import (
    ORDERS,
    Screened,
    describe_reasons,
    redacted_values,
    screen,
    screen_message,
    screen_transcript,
)
from memory.models import Ruling, Space
from memory.operations import erasing
from memory.text import normalise as text
from memory.transfer import containers
from memory.transfer.archive import files as reading
from memory.transfer.archive import rows
from memory.transfer.archive.rows import BY_NAME, CONTEXTS, HISTORY, KINDS, RECORDS, Kind, link_of
from memory.transfer.readers.json_values import parse_time
from memory.transfer.reports import Verdict
from memory.transfer.session import Session
from memory.transfer.writers import before_undo

BATCH = 500
RESERVE = """
SELECT nextval(pg_get_serial_sequence(%s, 'pgh_id')) FROM generate_series(1, %s) ORDER BY 1
"""
CONTEXT = """
INSERT INTO pghistory_context (id, created_at, updated_at, metadata)
SELECT id, at, at, metadata::jsonb
FROM unnest(%s::uuid[], %s::timestamptz[], %s::text[]) AS made (id, at, metadata)
"""
# Django dates a new state by itself: these were written then.
DATE = """
UPDATE {table} SET pgh_created_at = made.at
FROM unnest(%s::bigint[], %s::timestamptz[]) AS made (id, at) WHERE pgh_id = made.id
"""
# Functions that compute again what depends on the ids of rows; see sleep/apps.py.
SETTLE: list[Callable[[Space], None]] = []
# Rows that an undo of the import removes; the others go with them.
REMOVED = {
    "receipts": "memory.Recall",
    "nights": "sleep.Night",
    "claims": "sleep.Claim",
    "proposals": "sleep.Proposal",
}
_WITH_SAID_KEY = {"facts", "rulings"}
# The place in the archive, the id there, and the row.
ArrivingRow = tuple[str, int, Any]


class Restore:
    """The restore of one archive into one space."""

    def __init__(self, session: Session, tree: containers.Tree):
        self.session, self.tree = session, tree
        self.manifest = reading.manifest(tree)
        self.is_own = rows.is_valid(self.manifest)
        # Highest id of each kind before the restore: only older rows can be "known already".
        tables = {kind.name: kind.table._base_manager.filter(space=session.space) for kind in KINDS}
        self.last = {
            name: table.aggregate(last=Max("pk"))["last"] or 0 for name, table in tables.items()
        }
        self.is_empty = not any(self.last.values())
        self.has_rulings = Ruling.objects.filter(space=session.space, status="active").exists()
        # Number in the archive -> number here, of every row that arrived or was here.
        self.numbers: dict[str, dict[int, int]] = {kind.name: {} for kind in KINDS}
        # (kind, column) -> [(number in the archive, what the column says there)]
        self.later: dict[tuple[str, str], list[tuple[int, object]]] = {}
        self.contexts: dict[int, UUID] = {}
        self.members = dict(session.space.members.values_list("user__username", "pk"))
        self.done = 0
        self.total = sum(member["rows"] for member in self.manifest["members"])

    def run(self) -> None:
        for name in reading.unknown(self.tree, self.manifest):
            self.session.report.add(name, "left", Verdict.SKIPPED, reason="unknown")
        records = Records(self) if self.is_own and self.is_empty else None
        self._space()
        for kind in KINDS:
            lines = reading.rows(self.tree, self.manifest, kind.name)
            while batch := list(islice(lines, BATCH)):
                self._batch(kind, batch)
                self.report_progress(len(batch), kind.name)
        self._link()
        if records:
            records.run()
        else:
            self._leave_records()
        names = {"messages": "messages", "facts": "facts", "chats": "chats", "people": "entities"}
        arrived: dict[str, Any] = {
            name: {pk for pk in self.numbers[kind].values() if pk > self.last[kind]}
            for name, kind in names.items()
        }
        # What was erased does not come back with an older copy.
        erasing.replay(self.session.space, by=self.session.by, **arrived)

    def report_progress(self, count: int, what: str) -> None:
        self.done += count
        self.session.progress(self.done, self.total, what)

    def number(self, kind: str, data: Any) -> Any:
        if kind == "members":
            return self.members.get(data)
        if kind == "contexts":
            return self.contexts.get(int(data)) if str(data).isdigit() else None
        return self.numbers[kind].get(data) if isinstance(data, int) else None

    def _leave_records(self) -> None:
        for member in self.manifest["members"]:
            if member["kind"] in BY_NAME and member["kind"] not in self.last:
                why: dict[str, Any] = {"reason": "records", "count": member["rows"]}
                self.session.report.add(member["name"], "record", Verdict.SKIPPED, **why)

    def _space(self) -> None:
        """Take over language, time zone and settings when the space is empty."""
        data = self.manifest.get("space")
        if not self.is_empty or not isinstance(data, dict):
            return
        space = self.session.space
        stored = data.get("settings")
        stored = stored.items() if isinstance(stored, dict) else ()
        valid = {name: value for name, value in stored if not options.validation_error(name, value)}
        if data.get("language") in dict(settings.LANGUAGES):
            space.language = data["language"]
        if data.get("timezone") in available_timezones():
            space.timezone = data["timezone"]
        space.settings = space.settings | valid
        space.save(update_fields=["language", "timezone", "settings"])

    def _batch(self, kind: Kind, batch: list[tuple[str, int, object]]) -> None:
        arriving: list[ArrivingRow] = []
        first = len(self.session.report.lines)
        for name, line, data in batch:
            where = f"{name}:{line}"
            try:
                arriving.append((where, _number(data), self._row(kind, data)))
            except rows.BadRow as error:
                reason = "no chat" if str(error) == "chat" else "bad row"
                why = f"{kind.name[:-1]}: {error}" if reason == "bad row" else ""
                self._report(kind, where, Verdict.SKIPPED, reason=reason, why=why)
        self._store(kind, arriving)
        self.session.report.sort(first)

    def _row(self, kind: Kind, data: Any) -> Any:
        values = rows.decode(kind, data, self.number)
        row = kind.table(space=self.session.space, **values)
        row.suspicions = [] if self.is_own else screen_row(kind, row)
        if kind.name in _WITH_SAID_KEY:
            row.said_key = text.said_key(row.text)
        if kind.name == "entities":
            row.set_keys()
        if kind.name == "episodes" and row.status == "open" and not self.is_empty:
            row.status = "closed"  # the chat may have an open one of its own
        self._postpone(kind, row, data)
        return row

    def _postpone(self, kind: Kind, row: Any, data: dict) -> None:
        """Remember links to rows that are not inserted yet; `_link` sets them at the end."""
        for column in kind.fields:
            raw, target = data.get(column.name), link_of(column)
            if (
                (target and raw and getattr(row, column.attname) is None)
                or (
                    column.name in kind.id_lists and len(getattr(row, column.name)) < len(raw or [])
                )
                or (column.name in kind.evidence and "fact" in str(raw))
            ):
                self.later.setdefault((kind.name, column.name), []).append((_number(data), raw))

    def _store(self, kind: Kind, arriving: list[ArrivingRow]) -> None:
        known, last = {}, self.last[kind.name]
        if last:
            arrived = [row for _where, _number, row in arriving]
            known = find_existing(kind, self.session.space, arrived, last)
        fresh = []
        for where, number, row in arriving:
            existing = known.get(key_of(kind, row))
            if existing is not None:
                self.numbers[kind.name][number] = existing.pk
                self._match_existing(kind, where, existing, row)
            elif not self._holds_back(kind, where, row):
                fresh.append((where, number, row))
        self._insert(kind, fresh)

    def _match_existing(self, kind: Kind, where: str, existing: Any, row: Any) -> None:
        gone = getattr(type(existing), "UNDO_CREATE", {})
        here_gone, arriving_gone = (
            all(getattr(some, name) == value for name, value in gone.items())
            for some in (existing, row)
        )
        if not gone or not here_gone or arriving_gone:
            self._report(kind, where, Verdict.KNOWN, row=row, reason="known")
        elif "status" in gone and before_undo(existing) is None:
            self._report(kind, where, Verdict.SKIPPED, row=row, reason="put away")
        elif not self._holds_back(kind, where, row):
            row.pk = existing.pk
            row.save(force_update=True)
            self._report(kind, where, Verdict.TAKEN, row=row)

    def _holds_back(self, kind: Kind, where: str, row: Any) -> bool:
        """Return whether a ruling of this space or a guard keeps the row out."""
        space = self.session.space
        ruled = self.has_rulings and kind.name == "facts" and row.status == "active"
        if ruled and (ruling := rulings.forbidden(space, statement=row.text)):
            rulings.count_obeyed(ruling)
            self._report(kind, where, Verdict.SKIPPED, row=row, reason="ruling")
            return True
        if not row.suspicions or kind.name not in PROMPT_KINDS:
            return False
        what = str(row._meta.verbose_name)
        notices.set_aside(space, what=what, text=str(row), reasons=row.suspicions)
        why = describe_reasons(row.suspicions)
        self._report(kind, where, Verdict.QUARANTINED, row=row, why=why)
        return True

    def _insert(self, kind: Kind, fresh: list[ArrivingRow]) -> None:
        def refused(arrived: ArrivingRow, error: Exception) -> None:
            why = str(error).partition("\n")[0]
            where, _number, row = arrived
            self._report(kind, where, Verdict.SKIPPED, row=row, reason="bad row", why=why)

        fresh = insert_all(kind, fresh, refused=refused)
        for where, number, row in fresh:
            self.numbers[kind.name][number] = row.pk
            if getattr(row, "status", "") == "quarantined":
                why = describe_reasons(map(str, row.flags))
                self._report(kind, where, Verdict.QUARANTINED, row=row, why=why)
            else:
                self._report(kind, where, Verdict.TAKEN, row=row)
        # These have no history of their own by which an undo would find them.
        made = {"messages": self.session.made_messages, "chats": self.session.made_chats}
        made.get(kind.name, []).extend(row.pk for _where, _number, row in fresh)

    def _link(self) -> None:
        for (name, column), links in self.later.items():
            kind, archived = BY_NAME[name], dict(links)
            ids = {self.number(name, number): number for number in archived}
            mine = [pk for pk in ids if pk and pk > self.last[name]]
            for start in range(0, len(mine), BATCH):
                batch = list(kind.table._base_manager.filter(pk__in=mine[start : start + BATCH]))
                for row in batch:
                    values = {"id": 0, column: archived[ids[row.pk]]}
                    for attname, value in rows.decode(kind, values, self.number).items():
                        setattr(row, attname, value)
                kind.table._base_manager.bulk_update(batch, [column])

    def _report(
        self, kind: Kind, where: str, verdict: str, *, row: Any = None, **more: Any
    ) -> None:
        shown = str(row) if row is not None else ""
        self.session.report.add(where, _SINGULAR[kind.name], verdict, text=shown, **more)


_SINGULAR = {
    **{kind.name: kind.name.removesuffix("s").replace("_", " ") for kind in KINDS},
    "identity": "identity",
    "entities": "entity",
}


def _number(data: object) -> int:
    number = data.get("id") if isinstance(data, dict) else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise rows.BadRow("id")
    return number


def find_existing(kind: Kind, space: Space, arriving: list[Any], last: int) -> dict[Hashable, Any]:
    """Return the rows with ids up to `last` that may equal the arriving ones, by key."""
    field = kind.met_by[0]
    same = {f"{field}__in": {getattr(row, field) for row in arriving}}
    rows = kind.table._base_manager.filter(space=space, pk__lte=last, **same)
    # The last one of a key wins: a live row over an archived one, then the oldest.
    return {key_of(kind, row): row for row in sorted(rows.order_by("-pk"), key=_is_live)}


def key_of(kind: Kind, row: Any) -> Hashable:
    values = [getattr(row, name) for name in kind.met_by]
    if kind.name == "episodes":
        values.append(text.said_key(f"{row.title}\n{row.body}"))
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _is_live(row: Any) -> bool:
    return getattr(row, "status", "active") in ("active", "open", "closed", "quarantined")


# Kinds whose purpose is an instruction.
_INSTRUCTION_KINDS = {"patterns", "working_notes", "identity", "rules", "preferences"}
# Suspicious rows of these kinds go to quarantine.
QUARANTINED_KINDS = {"facts", "patterns"}
# These are in every prompt and have no quarantine: the owner gets a notice instead.
PROMPT_KINDS = {"chats", "working_notes", "identity", "rules", "preferences"}


def screen_row(kind: Kind, row: Any) -> list[str]:
    """Remove secrets, quarantine suspicious text; return the reasons."""
    name, ignore = kind.name, ORDERS if kind.name in _INSTRUCTION_KINDS else frozenset()
    screened = {
        column: _screen_column(name, row, column, single_line=column in kind.lines, ignore=ignore)
        for column in (*kind.lines, *kind.texts)
    }
    for column, found in screened.items():
        setattr(row, column, found.text[: row._meta.get_field(column).max_length])
    reasons = list(dict.fromkeys(reason for found in screened.values() for reason in found.reasons))
    for column in kind.lists:
        reasons += screen(str(getattr(row, column)), ignore=ignore).reasons
        setattr(row, column, redacted_values(getattr(row, column)))
    flags = [flag for found in screened.values() for flag in found.flags]
    if name == "episodes":
        flags = reasons
    if flags and hasattr(row, "flags"):
        row.flags = list(dict.fromkeys([*row.flags, *flags]))
    if reasons and name in QUARANTINED_KINDS and row.status == "active":
        row.status = "quarantined"
    return reasons


def _screen_column(
    name: str, row: Any, column: str, *, single_line: bool, ignore: Set[str]
) -> Screened:
    value = getattr(row, column)
    if name == "rulings":  # a ruling may well forbid an attack
        return screen(value, single_line=single_line, judge=False)
    if name == "messages":
        return screen_message(value, role=row.role)
    if (name, column) == ("episodes", "body"):
        return screen_transcript(value, ignore=ignore)
    return screen(value, single_line=single_line, ignore=ignore)


class Records:
    """History, receipts and nights; made before the rows arrive, so that history gets lower ids."""

    def __init__(self, restore: Restore):
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
        """Reserve ids for earlier states, below those of the rows that arrive after them."""
        members = self.restore.manifest["members"]
        count = sum(member["rows"] for member in members if member["kind"] == kind.name)
        with connection.cursor() as cursor:
            cursor.execute(RESERVE, [kind.table._meta.db_table, count])
            return iter([pk for (pk,) in cursor.fetchall()])

    def _lines(self, kind: Kind) -> Iterator[Any]:
        lines = reading.rows(self.restore.tree, self.restore.manifest, kind.name)
        return (data for _name, _line, data in lines)

    def _take(self, kind: Kind) -> None:
        lines, taken, bad = self._lines(kind), 0, 0
        while batch := list(islice(lines, BATCH)):
            arriving = []
            for data in batch:
                with suppress(rows.BadRow, KeyError, TypeError, ValueError):
                    arriving.append((data["id"], self._row(kind, data)))
            inserted = self._insert(kind, arriving)
            taken, bad = taken + len(inserted), bad + len(batch) - len(inserted)
            if not kind.is_history:
                self.numbers[kind.name] |= {number: row.pk for number, row in inserted}
            self.restore.report_progress(len(batch), kind.name)
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
            # Some tables of events keep the id of the row as a column, too.
            if any(column.name == "id" for column in kind.table._meta.concrete_fields):
                values["id"] = values["pgh_obj_id"]
        if kind.name in ("nights", "night_phases") and values.get("status") == "running":
            # It stopped when the archive was written; here it can be continued.
            values["status"] = "failed"
        return kind.table(**values)

    def _insert(self, kind: Kind, arriving: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        dates = {row.pk: row.pgh_created_at for _number, row in arriving} if kind.is_history else {}
        arriving = insert_all(kind, arriving)
        if dates:
            with connection.cursor() as cursor:
                statement = DATE.format(table=kind.table._meta.db_table)
                cursor.execute(statement, [list(dates), list(dates.values())])
        return arriving

    def _write_contexts(self, contexts: list[Any], numbers: dict[int, UUID]) -> None:
        good = [data for data in contexts if _is_context(data)]
        cleaned: list[Any] = [rows.clean_json(data["metadata"]) for data in good]
        values: list[Any] = [
            [numbers[data["id"]] for data in good],
            [parse_time(data["at"]) for data in good],
            [json.dumps(rows.metadata(each, self.restore.number)) for each in cleaned],
        ]
        with connection.cursor() as cursor:
            cursor.execute(CONTEXT, values)
        self.restore.report_progress(len(contexts), CONTEXTS.name)


def insert_all(
    kind: Kind, arriving: list[Any], *, refused: Callable[[Any, Exception], object] | None = None
) -> list[Any]:
    """Insert the rows, each the last of its tuple, one by one if they cannot be together."""
    with suppress(IntegrityError, DataError), transaction.atomic():
        kind.table._base_manager.bulk_create([entry[-1] for entry in arriving])
        return arriving
    inserted = []
    for entry in arriving:
        if not kind.is_history:
            entry[-1].pk = None
        try:
            with transaction.atomic():
                entry[-1].save(force_insert=True)
            inserted.append(entry)
        except (IntegrityError, DataError) as error:
            if refused:
                refused(entry, error)
    return inserted


def _is_context(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and isinstance(data.get("id"), int)
        and isinstance(data.get("metadata"), dict)
        and parse_time(data.get("at")) is not None
    )
