"""Writes the whole memory of a space into one file.

Formats: keno (an archive to keep or to move; memory_import brings it back as it was), kenobot (a
folder for KenoBot, zipped), snapshot (a MEMORY.md for people; nothing reads it back)."""

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from memory import transfer
from memory.history import actors
from memory.management.spaces import space_called
from memory.models import Space
from memory.operations import backup
from memory.transfer.reports import Bar


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("space", metavar="SPACE", help="the space's short name (slug)")
        parser.add_argument("--format", default="keno", choices=list(transfer.EXPORTS))
        parser.add_argument(
            "--output", metavar="FILE", help="where to write it; - is standard output"
        )
        parser.add_argument("--force", action="store_true", help="replace a file that is there")
        parser.add_argument("--by", default="console", metavar="NAME", help="who the audit names")

    def handle(self, *, space, format, output, force, by, **options):
        row = space_called(space)
        by = actors.person(by)
        if output == "-":
            transfer.export(row, self.stdout._out.buffer, format, by=by)
            return
        path = Path(output or transfer.file_name(row, format))
        if path.exists() and not force:
            raise CommandError(f"{path} is there already. Name another or say --force.")
        counts = self._write(row, path, format, by=by)
        counted = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        self.stdout.write(self.style.SUCCESS(f"Wrote {path}: {counted or 'nothing yet'}."))

    def _write(self, space: Space, path: Path, format: str, *, by: str) -> dict[str, int]:
        bar = Bar(self.stderr)
        try:
            with backup.whole_file(path.absolute()) as file:
                return transfer.export(space, file, format, by=by, progress=bar)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        finally:
            bar.end()
