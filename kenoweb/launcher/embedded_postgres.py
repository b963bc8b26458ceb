"""The embedded Postgres: one server per KENO_HOME, shared by every process of Keno.

Unix socket only, in a folder that nobody else may enter. Every process that needs the database
opens a `session`; the first one in starts the server and the last one out stops it. The kernel
keeps the count (flock), so a killed process is never counted.
"""

import fcntl
import os
import re
import shlex
import shutil
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from kenoweb.launcher import embedded_account
from kenoweb.launcher.embedded_account import EmbeddedError, Place, closed_folder, open_file, place

NAME = "keno"
DISK_FULL = re.compile("No space left on device|quota exceeded")
SETTINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def create(here: Place) -> None:
    """Build the cluster beside its place and move it there whole: initdb may be interrupted."""
    # A name of its own: an initdb that lost its parent may still write into the old one.
    part = here.base / f"postgres.part-{os.getpid()}-{time.monotonic_ns()}"
    closed_folder(part, here.uid)
    code, output = here.run(
        *("initdb", "--pgdata", part, "--username", NAME, "--encoding", "UTF8"),
        *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
        *("--auth-local", "trust", "--auth-host", "reject", "--no-instructions"),
    )
    if code:
        shutil.rmtree(part, ignore_errors=True)
        raise EmbeddedError(explain(here, output))
    if here.data.is_dir():
        here.data.rmdir()
    part.rename(here.data)


def sweep(here: Place) -> None:
    """Remove what an interrupted `create` left."""
    for part in here.base.glob("postgres.part-*"):
        _end_initdb(part)
        shutil.rmtree(part, ignore_errors=True)


def _end_initdb(part: Path) -> None:
    """End an initdb whose parent was killed: it would write into what we remove."""
    orphans = [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] in {"initdb", "postgres"}
        and str(part) in (process.info["cmdline"] or [])
    ]
    for process in orphans:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(orphans, timeout=10)


def configure(here: Place, options: Mapping) -> None:
    values = {"unix_socket_directories": str(here.socket_folder)} | SETTINGS | dict(options)
    lines = ["# Rewritten at every start. Your own values: ALTER SYSTEM SET …\n"]
    for name, value in values.items():
        escaped = str(value).replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{escaped}'\n")
    try:
        embedded_account.write(here.base / "postgres.conf", "".join(lines))
    except OSError as error:
        raise EmbeddedError(explain(here, str(error))) from error


def check_version(here: Place) -> None:
    try:
        version = (here.data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        if here.data.is_dir() and any(here.data.iterdir()):
            raise EmbeddedError(
                f"{here.data} is not a database of Keno's: move it away, or set KENO_HOME."
            ) from None
        return
    except PermissionError:
        raise EmbeddedError(
            f"{here.data} belongs to another account: start Keno as that account, or set KENO_HOME."
        ) from None
    major = str(embedded_account.MAJOR)
    if version != major:
        raise EmbeddedError(
            f"{here.data} was written by PostgreSQL {version} and this Keno brings {major}: "
            "make a backup with the Keno that wrote it, then restore it into a new KENO_HOME."
        )


def open_log(here: Place) -> int:
    """Make the log, begin a new one when it has grown; return where it ends now."""
    if here.log.exists() and here.log.stat().st_size > 1_000_000:
        here.log.replace(here.log.with_suffix(".log.1"))
    os.close(open_file(here.log, here.uid))
    return here.log.stat().st_size


def log_tail(here: Place, *, since: int = 0) -> str:
    try:
        return here.log.read_bytes()[since:][-4000:].decode(errors="replace")
    except OSError:
        return ""


def explain(here: Place, output: str) -> str:
    """Return one sentence for what Postgres wrote in many."""
    full = [line for line in output.splitlines() if DISK_FULL.search(line)]
    if full:
        memory = "shared memory" in full[-1]
        where = "shared memory (/dev/shm)" if memory else f"disk that holds {here.base}"
        return f"The {where} is full: free some space and start Keno again. Nothing was lost."
    if "could not look up effective user ID" in output:
        return "Postgres needs an account with a name: add one to /etc/passwd, or set DATABASE_URL."
    errors = re.findall(r"(?:FATAL|PANIC|ERROR|error): .*", output)
    last = (errors or output.strip().splitlines() or ["no reason given"])[-1]
    return f"The embedded database does not start: {last.strip()} (log: {here.log})."


def url(home: Path) -> str:
    """Return the address of this home's server, whether it runs or not."""
    return _url(place(home), NAME)


def running(home: Path) -> bool:
    return _pid(place(home)) is not None


class session:
    """Run the server for as long as a process needs it; gives its address.

    Not a generator: a forked worker that ends would finish it, and stop the server of its parent.
    """

    def __init__(self, home: Path, *, options: Mapping = {}):
        self.here, self.options = place(home), options

    def __enter__(self) -> str:
        embedded_account.prepare(self.here)
        self.users = open_file(self.here.base / "users.lock", self.here.uid)
        try:
            with _gate(self.here):
                fcntl.flock(self.users, fcntl.LOCK_SH)
                _start(self.here, self.options)
        except BaseException:
            os.close(self.users)
            raise
        return _url(self.here, NAME)

    def __exit__(self, *error) -> None:
        try:
            with _gate(self.here):
                if _alone(self.users):
                    _stop(self.here)
        finally:
            os.close(self.users)


def start(home: Path, *, options: Mapping = {}) -> str:
    """Start the server, or find it running; it stays until `stop`."""
    here = place(home)
    embedded_account.prepare(here)
    with _gate(here):
        _start(here, options)
    return _url(here, NAME)


def stop(home: Path) -> None:
    here = place(home)
    if here.base.is_dir():
        with _gate(here):
            _stop(here)


def _url(here: Place, name: str) -> str:
    return f"postgresql://{NAME}@/{name}?host={quote(str(here.socket_folder), safe='')}"


@contextmanager
def _gate(here: Place) -> Iterator[None]:
    """Let one process at a time start, stop and count."""
    file = open_file(here.base / "gate.lock", here.uid)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _alone(users: int) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start(here: Place, options: Mapping) -> None:
    if _pid(here) is None:
        check_version(here)
        sweep(here)
        if not here.data.is_dir():
            create(here)
        _remove_stale_notes(here)
        configure(here, options)
        _launch(here)
    _ensure_database(here)


def _pid(here: Place) -> int | None:
    """Return the live server of this very folder; a stale file may name any process by now."""
    pid = _noted_pid(here.data / "postmaster.pid")
    try:
        process = psutil.Process(pid) if pid else None
        if not process or not process.name().startswith("postgres"):
            return None
        return pid if str(here.data) in process.cmdline() else None
    except psutil.Error:
        return None


def _noted_pid(note: Path) -> int | None:
    try:
        return int(note.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def _remove_stale_notes(here: Place) -> None:
    # Postgres itself clears the note of a dead process, but believes one that names a live process
    # or a zombie. Our server does not run, so any process that a note names is another.
    lock = here.socket_folder / f"{embedded_account.SOCKET}.lock"
    for note in (here.data / "postmaster.pid", lock):
        pid = _noted_pid(note)
        if pid and psutil.pid_exists(pid):
            note.unlink()


def _launch(here: Place) -> None:
    deadline = time.monotonic() + 30
    while True:
        begin = open_log(here)
        code, output = here.run(
            *("pg_ctl", *"start -s -w -t 300 -D".split(), here.data, "-l", here.log),
            *("-o", f"-c config_file={shlex.quote(str(here.base / 'postgres.conf'))}"),
        )
        if code == 0:
            return
        output += log_tail(here, since=begin)
        # After kill -9 the old server's processes need a moment to notice that it is gone.
        if "still in use" not in output or time.monotonic() > deadline:
            raise EmbeddedError(explain(here, output))
        time.sleep(0.2)


def _ensure_database(here: Place) -> None:
    with _connect(here) as connection:
        query = "SELECT 1 FROM pg_database WHERE datname = %s"
        if not connection.execute(query, [NAME]).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(NAME)))


def _connect(here: Place) -> psycopg.Connection:
    """Connect, waiting while the server lives: it may still be recovering from a crash."""
    while True:
        try:
            return psycopg.connect(_url(here, "postgres"), autocommit=True, connect_timeout=30)
        except psycopg.OperationalError as error:
            if _pid(here) is None:
                raise EmbeddedError(explain(here, f"{error}\n{log_tail(here)}")) from error
            time.sleep(0.1)


def _stop(here: Place) -> None:
    if _pid(here) is None:
        return
    for mode in ("fast", "immediate"):
        options = f"stop -s -w -t 60 -m {mode} -D".split()
        code, output = here.run("pg_ctl", *options, here.data)
        if code == 0 or _pid(here) is None:
            return
    raise EmbeddedError(explain(here, output))
