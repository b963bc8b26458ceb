"""Bring a backup back into an empty Keno, and say whether anything differs."""

from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.management.commands.keno_backup import read_passphrase
from memory.operations import backup, erasing
from memory.spaces import encryption


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("file", type=Path)
        parser.add_argument("--passphrase-file", metavar="FILE", type=Path)
        parser.add_argument(
            "--erasures",
            metavar="FILE",
            type=Path,
            help=f"what was erased since then; usually {erasing.ERASURES} beside the backup",
        )

    def handle(self, *, file, passphrase_file, erasures, **options):
        passphrase = read_passphrase(passphrase_file) or settings.KENO_BACKUP_PASSPHRASE
        try:
            manifest = backup.restore(file, passphrase=passphrase)
        except backup.BackupError as error:
            raise CommandError(str(error)) from error
        rows = sum(table["rows"] for table in manifest["tables"].values())
        self.stdout.write(f"Restored {rows} rows of {manifest['made_at']}.")
        if found := backup.differences(manifest):
            self.stdout.write(self.style.WARNING("\n".join(["These differ now:", *found])))
        else:
            self.stdout.write(self.style.SUCCESS("Every table is as it was."))
        if closed := encryption.unopened():
            names = ", ".join(space.slug for space in closed)
            self.stdout.write(
                self.style.WARNING(
                    f"Encrypted, and not to be read without their key: {names}. Set"
                    " KENO_CONTENT_KEY_FILE or KENO_CONTENT_PASSPHRASE as it was."
                )
            )
        listed = erasures or file.parent / erasing.ERASURES
        if erased := erasing.replay_listed(listed, since=manifest["made_at"]):
            self.stdout.write(f"Erased again what was erased since then: {erased}.")
