"""Encrypts the words of a space, takes that away, or changes keys; all of it while Keno runs."""

import os
import time
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.history import actors
from memory.management.commands.keno_backup import read_passphrase
from memory.management.spaces import space_called
from memory.models import SpaceEncryption
from memory.models import encryption as keys
from memory.spaces import encryption

BY = actors.person("console")
ACTS = {"on": encryption.switch_on, "off": encryption.switch_off, "rotate": encryption.rotate}


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        acts = ("status", "new-key", *ACTS, "rewrap")
        parser.add_argument(
            "act",
            choices=acts,
            help="on, off, rotate (a new key of the space), status; new-key makes a key file;"
            " rewrap puts the keys of all spaces under the key of the installation as it is now",
        )
        parser.add_argument(
            "what", nargs="?", default="", help="the space's short name (slug), or the new key file"
        )
        parser.add_argument("--old-key-file", metavar="FILE", default="", help="for rewrap")
        parser.add_argument("--old-passphrase-file", metavar="FILE", type=Path, help="for rewrap")

    def handle(self, *, act, what, old_key_file, old_passphrase_file, **options):
        if act == "status":
            return self._status()
        if act == "new-key":
            return self._new_key(what or settings.KENO_CONTENT_KEY_FILE)
        if act == "rewrap":
            return self._rewrap(old_key_file, read_passphrase(old_passphrase_file))
        space = space_called(what)
        try:
            ACTS[act](space, by=BY)
        except encryption.Refused as refusal:
            raise CommandError(str(refusal)) from refusal
        # Until then other processes may still write as before.
        time.sleep(keys.CACHE_SECONDS)
        encryption.work(space.pk, now=timezone.now(), progress=self._tell)
        self.stdout.write(self.style.SUCCESS(f"{space.slug}: {encryption.of(space).status}"))
        return None

    def _status(self) -> None:
        has = "has a key for content" if keys.installation() else "has no key for content"
        self.stdout.write(f"This installation {has}.")
        for state in SpaceEncryption.objects.select_related("space").order_by("pk"):
            version = f", key {state.version}" if state.version else ""
            done = f", {state.done} of {state.total} rows" if state.is_busy else ""
            self.stdout.write(f"{state.space.slug}: {state.status}{version}{done}")

    def _new_key(self, file: str) -> None:
        if not file:
            raise CommandError("Say where to: manage.py memory_encrypt new-key FILE")
        try:
            # Never over another key: what is encrypted with that would be lost.
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.") from error
        with os.fdopen(handle, "wb") as out:
            out.write(encryption.new_key_file())
        self.stdout.write(
            f"Wrote {file}. Set KENO_CONTENT_KEY_FILE={file}, restart, and keep a copy of the file"
            " elsewhere: without it nobody can read what is encrypted, not even from a backup."
        )

    def _rewrap(self, key_file: str, passphrase: str) -> None:
        old = keys.secret(key_file=key_file, passphrase=passphrase)
        if old is None:
            raise CommandError("Give the old key: --old-key-file or --old-passphrase-file.")
        try:
            count = encryption.rewrap(old, by=BY)
        except encryption.Refused as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(self.style.SUCCESS(f"{count} keys are under the new key. Restart Keno."))

    def _tell(self, done: int, total: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done}/{total}", ending="")
