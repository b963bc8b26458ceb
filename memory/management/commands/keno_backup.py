"""Back up everything into one file: all spaces, histories, receipts, accounts and settings."""

from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.operations import backup


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("--output", metavar="FILE", type=Path, help="where to write it")
        parser.add_argument(
            "--passphrase-file", metavar="FILE", type=Path, help="seal it with what this file holds"
        )

    def handle(self, *, output, passphrase_file, **options):
        now = timezone.now()
        passphrase = read_passphrase(passphrase_file) or settings.KENO_BACKUP_PASSPHRASE
        folder = Path(settings.KENO_BACKUPS)
        path = output or folder / backup.file_name(now, sealed=bool(passphrase))
        if path.exists():
            raise CommandError(f"{path} is there already: name another.")
        try:
            made = backup.write(path, now=now, passphrase=passphrase, progress=self.show)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        rows = sum(table["rows"] for table in made["tables"].values())
        size = path.stat().st_size / 1_000_000
        self.stdout.write(self.style.SUCCESS(f"Wrote {path}: {rows} rows, {size:.1f} MB."))

    def show(self, name, n, total):
        if self.stderr.isatty():
            self.stderr.write(f"\r{n}/{total} {name:<50}", ending="\n" if n == total else "")


def read_passphrase(file: Path | None) -> str:
    try:
        return file.read_text().strip() if file else ""
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
