"""How a process of Keno begins: its folder, key, catalogues, address and database first."""

import errno
import fcntl
import hashlib
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import polib
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command, execute_from_command_line
from django.core.management.base import CommandError

from kenoweb import __version__, data_dir
from kenoweb.data_dir import NotReady
from kenoweb.launcher import database, mcp_pipe, supervisor

if TYPE_CHECKING:
    from django.db.migrations.loader import MigrationLoader

CHECKOUT, PACKAGE = Path(__file__).resolve().parents[2], Path(__file__).resolve().parents[1]
LOCALE = next(
    (root / "locale" for root in (CHECKOUT, PACKAGE) if (root / "locale").is_dir()),
    CHECKOUT / "locale",
)
# Commands that need neither a data folder nor a database.
ALONE = set(
    "help --help -h version --version check diffsettings "
    "collectstatic compilemessages makemessages makemigrations".split()
)
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
# Locked while `up` prepares the tables.
PREPARING = "preparing.lock"
# How many ports to try after a default port that is in use.
MAX_PORTS = 20


def compile_all(folder: Path = LOCALE) -> list[Path]:
    """Compile every catalogue whose source is newer; return the files written."""
    written = []
    for po in sorted(folder.glob("*/LC_MESSAGES/*.po")):
        mo, part = po.with_suffix(".mo"), po.with_suffix(".mo.part")
        if mo.exists() and mo.stat().st_mtime >= po.stat().st_mtime:
            continue
        with suppress(PermissionError):  # another account's checkout: stay with English
            polib.pofile(str(po)).save_as_mofile(str(part))
            part.replace(mo)
            written.append(mo)
    return written


def main() -> int:
    """Run `keno COMMAND`, which an installation has in place of manage.py."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    if sys.argv[1:] in (["--version"], ["version"]):
        print(f"Keno {__version__}")
        return 0
    if sys.argv[1:2] == ["mcp"] and (keno := mcp_pipe.running(sys.argv)):
        return mcp_pipe.serve(keno)
    return manage(sys.argv)


def manage(argv: list[str]) -> int:
    """Run one management command with what it needs."""
    try:
        supervisor.exit_with_parent()
        compile_all()
        is_alone = len(argv) < 2 or argv[1] in ALONE
        if not is_alone:
            data_dir.prepare(data_dir.path())
        # `up` starts the database itself, and says so.
        with nullcontext() if is_alone or argv[1] == "up" else database.session():
            execute_from_command_line(argv)
    except (NotReady, ImproperlyConfigured) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def migrate(say: Callable[[str], None] = lambda text: None) -> int:
    """Bring the tables up to date; return how many migrations that took.

    Existing tables are backed up first. Tables of a newer Keno are left alone.
    """
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    _refuse_newer(executor.loader)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        if executor.loader.applied_migrations:
            say(str(_back_up_first()))
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except CommandError as error:
            raise NotReady(f"The tables cannot be brought up to date: {error}") from error
    return len(waiting)


def _refuse_newer(loader: "MigrationLoader") -> None:
    replaced = {key for migration in loader.disk_migrations.values() for key in migration.replaces}
    known = {*loader.disk_migrations, *replaced}
    ours = {"memory", "sleep", "bot", "kenoweb"}
    newer = sorted(key for key in loader.applied_migrations if key[0] in ours and key not in known)
    if newer:
        raise NotReady(
            f"This database was written by a newer Keno than {__version__} "
            f"({'.'.join(newer[-1])}): start that one, or restore a backup of this version "
            "into an empty KENO_HOME with manage.py keno_restore."
        )


def _back_up_first() -> Path:
    from django.db import Error
    from django.utils import timezone

    from memory.operations import backup

    try:
        return backup.make(now=timezone.now())
    except (OSError, Error) as error:
        raise NotReady(
            f"No backup could be written before the upgrade ({error}): make room or set "
            "KENO_BACKUPS. Nothing was changed."
        ) from error


def collect_static() -> int:
    """Copy the static files, with hashed names, to where they are served from, if any changed."""
    root = Path(settings.STATIC_ROOT)
    stamp, fingerprint = root / ".stamp", _fingerprint()
    if stamp.exists() and stamp.read_text() == fingerprint:
        return 0
    try:
        call_command("collectstatic", interactive=False, verbosity=0, clear=root.exists())
        stamp.write_text(fingerprint)
    except OSError as error:
        raise NotReady(f"{root} cannot be written ({error.strerror}): set KENO_STATIC.") from error
    return len(fingerprint.splitlines())


def _fingerprint() -> str:
    """Return digests of the static files; not their times, as an image is built elsewhere."""
    from django.contrib.staticfiles.finders import get_finders

    digests = []
    for path, storage in chain.from_iterable(finder.list([]) for finder in get_finders()):
        with storage.open(path) as file:
            digests.append(f"{path} {hashlib.file_digest(file, 'sha256').hexdigest()}")
    return "\n".join([settings.VERSION, *sorted(digests)])


def lock(path: Path, *, wait: float = 0):
    """Take the lock and return its file, or None if another process keeps it."""
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


def wait_until_prepared() -> None:
    """Wait while `up` makes the tables ready; the pages are loaded meanwhile."""
    path = data_dir.path() / PREPARING
    # Pages that nobody's `up` starts have nothing to wait for.
    if path.exists():
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)


def parse(bind: str, *, port: int | None = None) -> tuple[str, int, bool]:
    """Return host, port, and whether the port was chosen: "0.0.0.0", "[::1]:8000", ":9000"."""
    host, colon, tail = bind.strip().rpartition(":")
    if not colon or bind.endswith("]"):
        host, tail = bind.strip(), ""
    host = host.strip("[]") or DEFAULT_HOST
    chosen = port if port is not None else tail
    if chosen == "":
        return host, DEFAULT_PORT, False
    if not str(chosen).isdigit() or not 0 < int(chosen) < 65536:
        raise NotReady(f"A port is a number from 1 to 65535, not {chosen!r}.")
    return host, int(chosen), True


def listen(host: str, port: int, *, chosen: bool) -> socket.socket:
    """Return a socket on this port, or on the next free one unless the port was chosen."""
    for number in range(port, port + 1 if chosen else min(port + MAX_PORTS, 65536)):
        try:
            return _listen(host, number)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise NotReady(f"Cannot listen on {host}:{number}: {error.strerror}.") from None
    if chosen:
        raise NotReady(f"Port {port} is in use: choose another with --port, or stop what uses it.")
    raise NotReady(f"Ports {port} to {number} are all in use: choose another with --port.")


def url(host: str, port: int) -> str:
    if host in {"0.0.0.0", "::"}:
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def names(sock: socket.socket) -> list[str]:
    """Return the host names that a browser may send when it opens this socket by its IP address."""
    host = sock.getsockname()[0]
    return [] if host in {"0.0.0.0", "::"} else [f"[{host}]" if ":" in host else host]


def _listen(host: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(512)
    except OSError:
        sock.close()
        raise
    return sock
