"""Bring an archive back: the same rows with the same links, in an empty space or a lived-in one."""

from collections.abc import Iterator
from itertools import islice
from zoneinfo import available_timezones

from django.conf import settings
from django.db import DataError, IntegrityError, models, transaction

from memory import options, rulings, text
from memory.models import Ruling
from memory.screen import in_words
from memory.transfer import safe
from memory.transfer.archive import known, reading, rows, screening
from memory.transfer.archive.shape import BY_NAME, KINDS, Kind, link_of
from memory.transfer.outcomes import before_undo
from memory.transfer.reports import Verdict
from memory.transfer.session import Session

BATCH = 500
_SAID = {"facts", "rulings"}
# Where it stands in the archive, its number there, and the row.
Arriving = tuple[str, int, models.Model]


class Restore:
    """One archive on its way into one space."""

    def __init__(self, session: Session, tree: safe.Tree):
        self.session, self.tree = session, tree
        self.manifest = reading.manifest(tree)
        self.is_own = reading.is_own(self.manifest)
        # Rows that were there before: only they can be "known already".
        self.last = {kind.name: _last(kind, session.space) for kind in KINDS}
        self.is_empty = not any(self.last.values())
        self.has_rulings = Ruling.objects.filter(space=session.space, status="active").exists()
        # Number in the archive -> number here, of every row that arrived or was here.
        self.numbers: dict[str, dict[int, int]] = {kind.name: {} for kind in KINDS}
        # (kind, column) -> [(number in the archive, what the column says there)]
        self.later: dict[tuple[str, str], list[tuple[int, object]]] = {}
        self.done = 0
        self.total = sum(member["rows"] for member in self.manifest["members"])

    def run(self) -> None:
        for name in reading.unknown(self.tree, self.manifest):
            self.session.report.add(name, "left", Verdict.SKIPPED, reason="unknown")
        self._space()
        for kind in KINDS:
            found = reading.rows(self.tree, self.manifest, kind.name)
            while batch := list(islice(found, BATCH)):
                self._batch(kind, batch)
                self.done += len(batch)
                self.session.progress(self.done, self.total, kind.name)
        self._link()

    def number(self, kind: str, given: object) -> int | None:
        return self.numbers[kind].get(given) if isinstance(given, int) else None

    def _space(self) -> None:
        """Language, clock and settings come along where nothing has been remembered yet."""
        given = self.manifest.get("space")
        if not self.is_empty or not isinstance(given, dict):
            return
        space = self.session.space
        stored = given.get("settings") if isinstance(given.get("settings"), dict) else {}
        kept = {key: value for key, value in stored.items() if not options.problem(key, value)}
        if given.get("language") in dict(settings.LANGUAGES):
            space.language = given["language"]
        if given.get("timezone") in available_timezones():
            space.timezone = given["timezone"]
        space.settings = space.settings | kept
        space.save(update_fields=["language", "timezone", "settings"])

    def _batch(self, kind: Kind, batch: list[tuple[str, int, object]]) -> None:
        made: list[Arriving] = []
        first = len(self.session.report.lines)
        for name, line, given in batch:
            where = f"{name}:{line}"
            try:
                made.append((where, _number(given), self._row(kind, given)))
            except rows.BadRow as error:
                reason = "no chat" if str(error) == "chat" else "bad row"
                why = f"{kind.name[:-1]}: {error}" if reason == "bad row" else ""
                self._report(kind, where, Verdict.SKIPPED, reason=reason, why=why)
        self._store(kind, made)
        self.session.report.sort(first)

    def _row(self, kind: Kind, given: object) -> models.Model:
        values = rows.decode(kind, given, self.number)
        row = kind.table(space=self.session.space, **values)
        row.suspicions = [] if self.is_own else screening.check(kind.name, row)
        if kind.name in _SAID:
            row.said_key = text.said_key(row.text)
        if kind.name == "episodes" and row.status == "open" and not self.is_empty:
            row.status = "closed"  # the chat may have an open one of its own
        self._postpone(kind, row, given)
        return row

    def _postpone(self, kind: Kind, row: models.Model, given: dict) -> None:
        """Links to rows that are not there yet, of this batch or further down, are made later."""
        for column in kind.fields:
            raw, target = given.get(column.name), link_of(column)
            missing = (
                target and raw and getattr(row, column.attname) is None,
                column.name in kind.id_lists and len(getattr(row, column.name)) < len(raw or []),
                column.name in kind.evidence and "fact" in str(raw),
            )
            if any(missing):
                self.later.setdefault((kind.name, column.name), []).append((_number(given), raw))

    def _store(self, kind: Kind, made: list[Arriving]) -> None:
        before, last = {}, self.last[kind.name]
        if last:
            arriving = [row for _where, _number, row in made]
            before = known.find(kind.name, self.session.space, arriving, last)
        fresh = []
        for where, number, row in made:
            met = before.get(known.key_of(kind.name, row))
            if met is not None:
                self.numbers[kind.name][number] = met.pk
                self._meet(kind, where, met, row)
            elif not self._held_back(kind, where, row):
                fresh.append((where, number, row))
        self._insert(kind, fresh)

    def _meet(self, kind: Kind, where: str, met: models.Model, row: models.Model) -> None:
        gone = getattr(type(met), "UNDO_CREATE", {})
        is_gone = bool(gone) and all(getattr(met, name) == value for name, value in gone.items())
        if not is_gone or all(getattr(row, name) == value for name, value in gone.items()):
            self._report(kind, where, Verdict.KNOWN, row=row, reason="known")
        elif "status" in gone and before_undo(met) is None:
            self._report(kind, where, Verdict.SKIPPED, row=row, reason="put away")
        elif not self._held_back(kind, where, row):
            row.pk = met.pk
            row.save(force_update=True)
            self._report(kind, where, Verdict.TAKEN, row=row)

    def _held_back(self, kind: Kind, where: str, row: models.Model) -> bool:
        """Whether a ruling of this space or a guard keeps the row out."""
        space = self.session.space
        ruled = self.has_rulings and kind.name == "facts" and row.status == "active"
        if ruled and (ruling := rulings.forbidden(space, said=row.text)):
            rulings.obeyed(ruling)
            self._report(kind, where, Verdict.SKIPPED, row=row, reason="ruling")
            return True
        if screening.hold(kind.name, row, row.suspicions, space=space):
            why = in_words(row.suspicions)
            self._report(kind, where, Verdict.QUARANTINED, row=row, why=why)
            return True
        return False

    def _insert(self, kind: Kind, fresh: list[Arriving]) -> None:
        try:
            with transaction.atomic():
                kind.table._base_manager.bulk_create([row for _where, _number, row in fresh])
        except (IntegrityError, DataError):
            for _where, _number, row in fresh:
                row.pk = None
            fresh = list(self._one_by_one(kind, fresh))
        for where, number, row in fresh:
            self.numbers[kind.name][number] = row.pk
            held = getattr(row, "status", "") == "quarantined"
            verdict, why = Verdict.TAKEN, ""
            if held:
                verdict, why = Verdict.QUARANTINED, in_words(map(str, row.flags))
            self._report(kind, where, verdict, row=row, why=why)
        self._remember_what_has_no_history(kind, fresh)

    def _one_by_one(self, kind: Kind, fresh: list[Arriving]) -> Iterator[Arriving]:
        for where, number, row in fresh:
            try:
                with transaction.atomic():
                    row.save(force_insert=True)
            except (IntegrityError, DataError) as error:
                why = str(error).partition("\n")[0]
                self._report(kind, where, Verdict.SKIPPED, row=row, reason="bad row", why=why)
            else:
                yield where, number, row

    def _remember_what_has_no_history(self, kind: Kind, fresh) -> None:
        made = [row.pk for _where, _number, row in fresh]
        if kind.name == "messages":
            self.session.made_messages += made
        elif kind.name == "chats":
            self.session.made_chats += made

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

    def _report(self, kind: Kind, where: str, verdict: str, *, row=None, **more) -> None:
        shown = str(row) if row is not None else ""
        self.session.report.add(where, _SINGULAR[kind.name], verdict, text=shown, **more)


_SINGULAR = {
    **{kind.name: kind.name.removesuffix("s").replace("_", " ") for kind in KINDS},
    "identity": "identity",
}


def _last(kind: Kind, space) -> int:
    found = kind.table._base_manager.filter(space=space).aggregate(last=models.Max("pk"))
    return found["last"] or 0


def _number(given: object) -> int:
    number = given.get("id") if isinstance(given, dict) else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise rows.BadRow("id")
    return number
