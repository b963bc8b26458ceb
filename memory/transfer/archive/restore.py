"""Restore an archive: the same rows with the same links, in an empty or a used space."""

from collections.abc import Hashable, Set
from itertools import islice
from typing import Any
from uuid import UUID
from zoneinfo import available_timezones

from django.conf import settings
from django.db import models

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
from memory.transfer.archive.records import Records, insert_all
from memory.transfer.archive.rows import BY_NAME, KINDS, Kind, link_of
from memory.transfer.reports import Verdict
from memory.transfer.session import Session
from memory.transfer.writers import before_undo

BATCH = 500
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
        self.last = {kind.name: _last(kind, session.space) for kind in KINDS}
        self.is_empty = not any(self.last.values())
        self.has_rulings = Ruling.objects.filter(space=session.space, status="active").exists()
        # Number in the archive -> number here, of every row that arrived or was here.
        self.numbers: dict[str, dict[int, int]] = {kind.name: {} for kind in KINDS}
        # (kind, column) -> [(number in the archive, what the column says there)]
        self.later: dict[tuple[str, str], list[tuple[int, object]]] = {}
        self.contexts: dict[int, UUID] = {}
        named = session.space.members.values_list("user__username", "pk")
        self.members: dict[str, int] = dict(named)
        self.done = 0
        self.total = sum(member["rows"] for member in self.manifest["members"])

    def run(self) -> None:
        for name in reading.unknown(self.tree, self.manifest):
            self.session.report.add(name, "left", Verdict.SKIPPED, reason="unknown")
        records = Records(self) if self.is_own and self.is_empty else None
        self._space()
        for kind in KINDS:
            found = reading.rows(self.tree, self.manifest, kind.name)
            while batch := list(islice(found, BATCH)):
                self._batch(kind, batch)
                self.told(len(batch), kind.name)
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

    def told(self, count: int, what: str) -> None:
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
                told = {"reason": "records", "count": member["rows"]}
                self.session.report.add(member["name"], "record", Verdict.SKIPPED, **told)

    def _space(self) -> None:
        """Take over language, time zone and settings when the space is empty."""
        data = self.manifest.get("space")
        if not self.is_empty or not isinstance(data, dict):
            return
        space = self.session.space
        stored = data.get("settings")
        given = stored.items() if isinstance(stored, dict) else ()
        kept = {key: value for key, value in given if not options.validation_error(key, value)}
        if data.get("language") in dict(settings.LANGUAGES):
            space.language = data["language"]
        if data.get("timezone") in available_timezones():
            space.timezone = data["timezone"]
        space.settings = space.settings | kept
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
            missing = (
                target and raw and getattr(row, column.attname) is None,
                column.name in kind.id_lists and len(getattr(row, column.name)) < len(raw or []),
                column.name in kind.evidence and "fact" in str(raw),
            )
            if any(missing):
                self.later.setdefault((kind.name, column.name), []).append((_number(data), raw))

    def _store(self, kind: Kind, made: list[ArrivingRow]) -> None:
        before, last = {}, self.last[kind.name]
        if last:
            arriving = [row for _where, _number, row in made]
            before = find_existing(kind, self.session.space, arriving, last)
        fresh = []
        for where, number, row in made:
            met = before.get(key_of(kind, row))
            if met is not None:
                self.numbers[kind.name][number] = met.pk
                self._meet(kind, where, met, row)
            elif not self._held_back(kind, where, row):
                fresh.append((where, number, row))
        self._insert(kind, fresh)

    def _meet(self, kind: Kind, where: str, existing: Any, row: Any) -> None:
        gone = getattr(type(existing), "UNDO_CREATE", {})
        is_gone = bool(gone) and all(
            getattr(existing, name) == value for name, value in gone.items()
        )
        if not is_gone or all(getattr(row, name) == value for name, value in gone.items()):
            self._report(kind, where, Verdict.KNOWN, row=row, reason="known")
        elif "status" in gone and before_undo(existing) is None:
            self._report(kind, where, Verdict.SKIPPED, row=row, reason="put away")
        elif not self._held_back(kind, where, row):
            row.pk = existing.pk
            row.save(force_update=True)
            self._report(kind, where, Verdict.TAKEN, row=row)

    def _held_back(self, kind: Kind, where: str, row: Any) -> bool:
        """Return whether a ruling of this space or a guard keeps the row out."""
        space = self.session.space
        ruled = self.has_rulings and kind.name == "facts" and row.status == "active"
        if ruled and (ruling := rulings.forbidden(space, statement=row.text)):
            rulings.count_obeyed(ruling)
            self._report(kind, where, Verdict.SKIPPED, row=row, reason="ruling")
            return True
        if send_to_owner(kind.name, row, row.suspicions, space=space):
            why = describe_reasons(row.suspicions)
            self._report(kind, where, Verdict.QUARANTINED, row=row, why=why)
            return True
        return False

    def _insert(self, kind: Kind, fresh: list[ArrivingRow]) -> None:
        def refused(one: ArrivingRow, error: Exception) -> None:
            told = {"reason": "bad row", "why": str(error).partition("\n")[0]}
            self._report(kind, one[0], Verdict.SKIPPED, row=one[-1], **told)

        fresh = insert_all(kind, fresh, refused=refused)
        for where, number, row in fresh:
            self.numbers[kind.name][number] = row.pk
            if getattr(row, "status", "") == "quarantined":
                why = describe_reasons(map(str, row.flags))
                self._report(kind, where, Verdict.QUARANTINED, row=row, why=why)
            else:
                self._report(kind, where, Verdict.TAKEN, row=row)
        # What has no history of its own, so that undo finds it.
        made = {"messages": self.session.made_messages, "chats": self.session.made_chats}
        made.get(kind.name, []).extend(row.pk for _where, _number, row in fresh)

    def _link(self) -> None:
        for (name, column), links in self.later.items():
            kind, wanted = BY_NAME[name], dict(links)
            ids = {self.number(name, number): number for number in wanted}
            mine = [pk for pk in ids if pk and pk > self.last[name]]
            for start in range(0, len(mine), BATCH):
                found = list(kind.table._base_manager.filter(pk__in=mine[start : start + BATCH]))
                for row in found:
                    values = {"id": 0, column: wanted[ids[row.pk]]}
                    for attname, value in rows.decode(kind, values, self.number).items():
                        setattr(row, attname, value)
                kind.table._base_manager.bulk_update(found, [column])

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


def _last(kind: Kind, space: Space) -> int:
    found = kind.table._base_manager.filter(space=space).aggregate(last=models.Max("pk"))
    return found["last"] or 0


def _number(data: object) -> int:
    number = data.get("id") if isinstance(data, dict) else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise rows.BadRow("id")
    return number


def find_existing(kind: Kind, space: Space, arriving: list[Any], last: int) -> dict[Hashable, Any]:
    """Return the rows with ids up to `last` that may equal the arriving ones, by key."""
    field = kind.met_by[0]
    wanted = {f"{field}__in": {getattr(row, field) for row in arriving}}
    rows = kind.table._base_manager.filter(space=space, pk__lte=last, **wanted)
    found: dict[Hashable, Any] = {}
    for row in rows.order_by("-pk") if arriving else ():
        held = found.get(key_of(kind, row))
        # A live row wins over an archived one.
        if held is None or _alive(row) >= _alive(held):
            found[key_of(kind, row)] = row
    return found


def key_of(kind: Kind, row: Any) -> Hashable:
    values = [getattr(row, name) for name in kind.met_by]
    if kind.name == "episodes":
        values.append(text.said_key(f"{row.title}\n{row.body}"))
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _alive(row: Any) -> bool:
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
        column: _screened(name, row, column, single_line=column in kind.lines, ignore=ignore)
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


def _screened(name: str, row: Any, column: str, *, single_line: bool, ignore: Set[str]) -> Screened:
    value = getattr(row, column)
    if name == "rulings":  # a ruling may well forbid an attack
        return screen(value, single_line=single_line, judge=False)
    if name == "messages":
        return screen_message(value, role=row.role)
    if (name, column) == ("episodes", "body"):
        return screen_transcript(value, ignore=ignore)
    return screen(value, single_line=single_line, ignore=ignore)


def send_to_owner(name: str, row: Any, reasons: list[str], *, space: Space) -> bool:
    """Tell the owner instead of storing a suspicious row; return whether that happened."""
    if not reasons or name not in PROMPT_KINDS:
        return False
    what = str(row._meta.verbose_name)
    notices.set_aside(space, what=what, text=str(row), reasons=reasons)
    return True
