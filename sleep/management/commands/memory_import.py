"""Brings memories into a space: an archive of Keno, a KenoBot folder, a Clanker database, or an
export of ChatGPT, Claude or mem0.

Without --apply it only says what would happen, line by line; with --learn it also proposes what
people say in the messages. An import is one change: --undo takes all of it back. Importing the same
thing twice adds nothing."""

import json

from django.core.management.base import BaseCommand, CommandError

from memory import transfer
from memory.history import actors
from memory.history import changes as history
from memory.management.spaces import space_called
from memory.models import AuditEntry, Space
from memory.transfer.reports import Bar
from sleep import imports


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("space", metavar="SPACE", help="the space's short name (slug)")
        parser.add_argument("path", metavar="PATH", nargs="?", help="a folder, a zip or a file")
        parser.add_argument(
            "--format", default=transfer.AUTO, choices=[transfer.AUTO, *transfer.FORMATS]
        )
        parser.add_argument("--apply", action="store_true", help="do it, not only say it")
        parser.add_argument(
            "--learn", action="store_true", help="propose what people say in the messages"
        )
        parser.add_argument("--json", action="store_true", help="the whole report as JSON")
        parser.add_argument("--guild", default="", help="which server of a Clanker database")
        parser.add_argument("--undo", metavar="ID", help="take back the import with this id")
        parser.add_argument("--by", default="console", metavar="NAME", help="who the history names")

    def handle(self, *, space, path, by, undo, **options):
        row = space_called(space)
        by = actors.person(by)
        if undo:
            return self._undo(row, undo, by=by)
        if not path:
            raise CommandError("Say what to import: a folder, a zip or a file.")
        if options["learn"] and not options["apply"]:
            raise CommandError("--learn needs --apply: only what was imported can be learned from.")
        report = self._import(row, path, by=by, **options)
        if options["json"]:
            self.stdout.write(json.dumps(report.as_dict(), ensure_ascii=False, indent=1))
        else:
            self._show(report, verbose=options["verbosity"] > 0)
        if options["learn"]:
            self._learn(row, report, by=by)
        return None

    def _import(self, space, path, *, by, format, apply, guild, **_options) -> transfer.Report:
        bar = Bar(self.stderr)
        run = transfer.run if apply else transfer.dry_run
        options = {"guild": guild} if guild else {}
        try:
            return run(space, path, format, by=by, progress=bar, **options)
        except transfer.Refused as refused:
            raise CommandError(f"Nothing was imported. {refused}") from refused
        finally:
            bar.end()

    def _show(self, report: transfer.Report, *, verbose: bool) -> None:
        styles = {"taken": self.style.SUCCESS, "quarantined": self.style.WARNING}
        for line in report.lines if verbose else ():
            style = styles.get(line.verdict, lambda words: words)
            times = f" ({line.count} times)" if line.count > 1 else ""
            quote = f"  “{line.text}”" if line.text else ""
            why = f"  {line.why}" if line.why else ""
            shown = f"{line.verdict:<11} {line.kind:<12} {line.where}{times}{quote}{why}"
            self.stdout.write(style(shown))
        self.stdout.write("")
        for kind, verdicts in report.counts.items():
            counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
            self.stdout.write(f"{kind:<12} {counts}")
        if report.dry:
            self.stdout.write("This is what would happen. Say --apply to do it.")
        elif report.change:
            text = f"Imported. To take it back: --undo {report.change}"
            self.stdout.write(self.style.SUCCESS(text))

    def _learn(self, space: Space, report: transfer.Report, *, by: str) -> None:
        entry, bar = self._entry(space, report.change), Bar(self.stderr)
        speaker = "" if actors.name(by) == "console" else actors.name(by)
        count = imports.learn(space, entry, by=by, speaker=speaker, progress=bar)
        bar.end()
        self.stderr.write(f"{count} facts wait for a decision among the proposals.")

    def _entry(self, space: Space, change: str) -> AuditEntry | None:
        entries = transfer.imports(space)
        return next((entry for entry in entries if entry.details.get("change") == change), None)

    def _undo(self, space: Space, change: str, *, by: str) -> None:
        try:
            if entry := self._entry(space, change):
                imports.undo(space, entry, by=by)
            transfer.undo(space, change, by=by)
        except (history.Conflict, transfer.UnknownImport) as error:
            raise CommandError(f"It cannot be taken back: {error}") from error
        self.stdout.write("The import was undone.")
