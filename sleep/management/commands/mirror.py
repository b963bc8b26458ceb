"""Brings a folder of Markdown files and a space in step: what Keno believes is written, what was
changed on disk becomes proposals."""

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from memory.history import actors
from memory.management.spaces import space_called
from memory.spaces import service as spaces
from sleep import mirror


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("space", metavar="SPACE", help="the space's short name (slug)")
        parser.add_argument("folder", nargs="?", help="where (usually: KENO_MIRRORS and the slug)")
        parser.add_argument(
            "--watch", action="store_true", help="let the worker keep the usual folder in step"
        )

    def handle(self, *, space, folder, watch, **options):
        row = space_called(space)
        if watch and folder:
            raise CommandError("The worker keeps the usual folder: leave FOLDER, set KENO_MIRRORS.")
        if watch:
            spaces.configure(row, values={"mirror": True}, by=actors.person("console"))
        where = Path(folder).expanduser() if folder else mirror.folder_of(row)
        try:
            done = mirror.sync(row, where)
        except (OSError, mirror.Busy) as error:
            raise CommandError(f"{where}: {error}") from error
        for line in [*done.problems, *done.conflicts]:
            self.stdout.write(line)
        self.stdout.write(f"{where}: {done.written} files written, {len(done.asked)} proposals.")
