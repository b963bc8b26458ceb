"""The embedded Postgres: one server per KENO_HOME, shared by every process of Keno.

Unix socket only, in a folder that nobody else may enter. Whoever needs the database opens a
`session`; the first one in starts the server and the last one out stops it. The count is kept
by the kernel (flock), so a killed process is never counted.
"""

import fcntl
import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from kenoweb.postgres_account import (
    MAJOR,
    EmbeddedError,
    Place,
    closed_folder,
    open_file,
    place,
    prepare,
    programs,
    write,
)

NAME = "keno"
SETTINGS = {
    "listen_addresses": "",
    "port": 5432,
    "dynamic_shared_memory_type": "posix",
    "unix_socket_permissions": "0700",
    # Parallel HNSW builds crash this build of pgvector on some arm64 processors.
    "max_parallel_maintenance_workers": 0,
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Memories must not end up in a log: neither the statement nor the row that broke a rule.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


def url(home: Path) -> str:
    """The address of this home's server, whether it runs or not."""
    return _url(place(home), NAME)


def running(home: Path) -> bool:
    return _pid(place(home)) is not None


@contextmanager
def session(home: Path, *, options: Mapping = {}) -> Iterator[str]:
    """The server's address for as long as somebody needs it."""
    here = place(home)
    prepare(here)
    users = open_file(here.base / "users.lock", here.uid)
    try:
        with _gate(here):
            fcntl.flock(users, fcntl.LOCK_SH)
            _start(here, options)
        try:
            yield _url(here, NAME)
        finally:
            with _gate(here):
                if _alone(users):
                    _stop(here)
    finally:
        os.close(users)


def start(home: Path, *, options: Mapping = {}) -> str:
    """Start the server, or find it running; it stays until `stop`."""
    here = place(home)
    prepare(here)
    with _gate(here):
        _start(here, options)
    return _url(here, NAME)


def stop(home: Path) -> None:
    here = place(home)
    if here.base.is_dir():
        with _gate(here):
            _stop(here)


def in_use(home: Path) -> bool:
    """Whether some process has a session open."""
    here = place(home)
    users = open_file(here.base / "users.lock", here.uid)
    try:
        return not _alone(users)
    finally:
        os.close(users)


def program(name: str) -> Path:
    """One of Postgres's client programs, such as pg_dump."""
    return programs() / name


def _url(here: Place, name: str) -> str:
    return f"postgresql://{NAME}@/{name}?host={quote(str(here.socket_folder), safe='')}"


@contextmanager
def _gate(here: Place) -> Iterator[None]:
    """One at a time: starting, stopping and counting."""
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
        _check_version(here)
        if not here.data.is_dir():
            _create(here)
        _forget_stranger(here)
        _configure(here, options)
        _launch(here)
    _ensure_database(here)


def _pid(here: Place) -> int | None:
    """The live server of this very folder; a stale file may name any process by now."""
    pid = _noted_pid(here)
    try:
        process = psutil.Process(pid) if pid else None
        if not process or not process.name().startswith("postgres"):
            return None
        return pid if str(here.data) in process.cmdline() else None
    except psutil.Error:
        return None


def _noted_pid(here: Place) -> int | None:
    try:
        first = (here.data / "postmaster.pid").read_text().split("\n", 1)[0]
        return int(first)
    except (OSError, ValueError):
        return None


def _forget_stranger(here: Place) -> None:
    # Postgres itself clears the note of a dead process, but believes one that names a live one.
    pid = _noted_pid(here)
    if pid and psutil.pid_exists(pid):
        (here.data / "postmaster.pid").unlink()


def _check_version(here: Place) -> None:
    try:
        found = (here.data / "PG_VERSION").read_text().strip()
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
    if found != str(MAJOR):
        raise EmbeddedError(
            f"{here.data} was written by PostgreSQL {found} and this Keno brings {MAJOR}: "
            "make a backup with the Keno that wrote it, then restore it into a new KENO_HOME."
        )


def _create(here: Place) -> None:
    """Build the cluster beside its place and move it there whole: initdb may be interrupted."""
    part = here.base / "postgres.part"
    shutil.rmtree(part, ignore_errors=True)
    closed_folder(part, here.uid)
    code, words = here.run(
        *("initdb", "--pgdata", part, "--username", NAME, "--encoding", "UTF8"),
        *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
        *("--auth-local", "trust", "--auth-host", "reject", "--no-instructions"),
    )
    if code:
        shutil.rmtree(part, ignore_errors=True)
        raise EmbeddedError(_explain(here, words))
    if here.data.is_dir():
        here.data.rmdir()
    part.rename(here.data)


def _configure(here: Place, options: Mapping) -> None:
    values = {"unix_socket_directories": str(here.socket_folder)} | SETTINGS | dict(options)
    lines = ["# Rewritten at every start. Your own values: ALTER SYSTEM SET …\n"]
    lines += [f"{name} = {_quoted(value)}\n" for name, value in values.items()]
    try:
        write(here.base / "postgres.conf", "".join(lines))
    except OSError as error:
        raise EmbeddedError(_explain(here, str(error))) from error


def _quoted(value) -> str:
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"


def _launch(here: Place) -> None:
    deadline = time.monotonic() + 15
    while True:
        _trim_log(here)
        code, words = here.run(
            *("pg_ctl", "start", "-s", "-w", "-t", "300", "-D", here.data, "-l", here.log),
            *("-o", f"-c config_file={shlex.quote(str(here.base / 'postgres.conf'))}"),
        )
        if code == 0:
            return
        words += _last_words(here)
        # After kill -9 the old server's processes need a moment to notice that it is gone.
        if "still in use" not in words or time.monotonic() > deadline:
            raise EmbeddedError(_explain(here, words))
        time.sleep(0.2)


def _trim_log(here: Place) -> None:
    if here.log.exists() and here.log.stat().st_size > 1_000_000:
        here.log.replace(here.log.with_suffix(".log.1"))
    os.close(open_file(here.log, here.uid))


def _last_words(here: Place) -> str:
    try:
        return here.log.read_text(errors="replace")[-4000:]
    except OSError:
        return ""


def _explain(here: Place, words: str) -> str:
    if "No space left" in words or "quota exceeded" in words:
        where = (
            "shared memory (/dev/shm)"
            if "shared memory" in words
            else f"disk that holds {here.base}"
        )
        return f"The {where} is full: free some space and start Keno again. Nothing was lost."
    marks = ("FATAL:", "PANIC:", "error:", "ERROR:")
    telling = [line for line in words.splitlines() if any(mark in line for mark in marks)]
    last = (telling or words.strip().splitlines() or ["no reason given"])[-1]
    return f"The embedded database does not start: {last.strip()} (log: {here.log})."


def _ensure_database(here: Place) -> None:
    with psycopg.connect(_url(here, "postgres"), autocommit=True, connect_timeout=30) as connection:
        query = "SELECT 1 FROM pg_database WHERE datname = %s"
        if not connection.execute(query, [NAME]).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(NAME)))


def _stop(here: Place) -> None:
    if _pid(here) is None:
        return
    for mode in ("fast", "immediate"):
        code, words = here.run(
            "pg_ctl", "stop", "-s", "-w", "-t", "60", "-m", mode, "-D", here.data
        )
        if code == 0 or _pid(here) is None:
            return
    raise EmbeddedError(_explain(here, words))
