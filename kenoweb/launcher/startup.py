"""How a process of Keno begins: its folder, its key and its database first."""

import fcntl
import hashlib
import os
import sys
import time
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command, execute_from_command_line
from django.core.management.base import CommandError

from kenoweb import __version__, data_dir
from kenoweb.data_dir import NotReady
from kenoweb.launcher import compile_messages, database, parent_watch

# Commands that need neither a data folder nor a database.
ALONE = {
    *("help", "--help", "-h", "version", "--version", "check", "diffsettings"),
    *("collectstatic", "compilemessages", "makemessages", "makemigrations"),
}


def main() -> int:
    """Run `keno COMMAND`, which an installation has in place of manage.py."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    if sys.argv[1:] in (["--version"], ["version"]):
        print(f"Keno {__version__}")
        return 0
    return manage(sys.argv)


def manage(argv: list[str]) -> int:
    """Run one management command with what it needs."""
    try:
        parent_watch.exit_with_parent()
        compile_messages.compile_all()
        if len(argv) < 2 or argv[1] in ALONE:
            execute_from_command_line(argv)
            return 0
        data_dir.prepare(data_dir.path())
        if argv[1] == "up":  # it starts the database itself, and says so
            execute_from_command_line(argv)
            return 0
        with database.session():
            execute_from_command_line(argv)
    except (NotReady, ImproperlyConfigured) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def migrate() -> int:
    """Bring the tables up to date; how many migrations that took."""
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except CommandError as error:
            raise NotReady(f"The tables cannot be brought up to date: {error}") from error
    return len(waiting)


def collect_static() -> int:
    """Put hashed copies of the static files where they are served from, when any has changed."""
    root = Path(settings.STATIC_ROOT)
    stamp, now = root / ".stamp", _fingerprint()
    if stamp.exists() and stamp.read_text() == now:
        return 0
    try:
        call_command("collectstatic", interactive=False, verbosity=0, clear=root.exists())
        stamp.write_text(now)
    except OSError as error:
        raise NotReady(f"{root} cannot be written ({error.strerror}): set KENO_STATIC.") from error
    return len(now.splitlines())


def _fingerprint() -> str:
    """Of the contents, not of the times: an image may have been built elsewhere."""
    from django.contrib.staticfiles.finders import get_finders

    found = []
    for finder in get_finders():
        for path, storage in finder.list([]):
            with storage.open(path) as file:
                found.append(f"{path} {hashlib.file_digest(file, 'sha256').hexdigest()}")
    return "\n".join([settings.VERSION, *sorted(found)])


def lock(path: Path, *, wait: float = 0):
    """Take the lock and return its file, or None if somebody else keeps it."""
    file = path.open("a+")
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() >= deadline:
                file.close()
                return None
            time.sleep(0.1)
