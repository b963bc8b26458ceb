"""The files of the embedded Postgres: made whole, configured at every start, explained."""

import os
import re
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from kenoweb.launcher.embedded_account import (
    MAJOR,
    EmbeddedError,
    Place,
    closed_folder,
    open_file,
    write,
)

NAME = "keno"
FULL = re.compile("No space left on device|quota exceeded")
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
    "log_checkpoints": "off",
    # Memories must not end up in a log: neither the statement nor the row that broke a rule.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


def create(here: Place) -> None:
    """Build the cluster beside its place and move it there whole: initdb may be interrupted."""
    # A name of its own: an initdb that lost its parent may still be at work in the old one.
    part = here.base / f"postgres.part-{os.getpid()}-{time.monotonic_ns()}"
    closed_folder(part, here.uid)
    code, words = here.run(
        *("initdb", "--pgdata", part, "--username", NAME, "--encoding", "UTF8"),
        *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
        *("--auth-local", "trust", "--auth-host", "reject", "--no-instructions"),
    )
    if code:
        shutil.rmtree(part, ignore_errors=True)
        raise EmbeddedError(explain(here, words))
    if here.data.is_dir():
        here.data.rmdir()
    part.rename(here.data)


def sweep(here: Place) -> None:
    """Remove what an interrupted `create` left."""
    for left in here.base.glob("postgres.part-*"):
        _end_initdb(left)
        shutil.rmtree(left, ignore_errors=True)


def _end_initdb(part: Path) -> None:
    """An initdb whose parent was killed works on, and would write into what we remove."""
    lost = [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] in {"initdb", "postgres"}
        and str(part) in (process.info["cmdline"] or [])
    ]
    for process in lost:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(lost, timeout=10)


def configure(here: Place, options: Mapping) -> None:
    values = {"unix_socket_directories": str(here.socket_folder)} | SETTINGS | dict(options)
    lines = ["# Rewritten at every start. Your own values: ALTER SYSTEM SET …\n"]
    lines += [f"{name} = {_quoted(value)}\n" for name, value in values.items()]
    try:
        write(here.base / "postgres.conf", "".join(lines))
    except OSError as error:
        raise EmbeddedError(explain(here, str(error))) from error


def _quoted(value) -> str:
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"


def check_version(here: Place) -> None:
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


def open_log(here: Place) -> int:
    """Make the log, begin a new one when it has grown; returns where it ends now."""
    if here.log.exists() and here.log.stat().st_size > 1_000_000:
        here.log.replace(here.log.with_suffix(".log.1"))
    os.close(open_file(here.log, here.uid))
    return here.log.stat().st_size


def last_words(here: Place, *, since: int = 0) -> str:
    try:
        return here.log.read_bytes()[since:][-4000:].decode(errors="replace")
    except OSError:
        return ""


def explain(here: Place, words: str) -> str:
    """One sentence for what Postgres said in many."""
    full = [line for line in words.splitlines() if FULL.search(line)]
    if full:
        memory = "shared memory" in full[-1]
        where = "shared memory (/dev/shm)" if memory else f"disk that holds {here.base}"
        return f"The {where} is full: free some space and start Keno again. Nothing was lost."
    if "could not look up effective user ID" in words:
        return "Postgres needs an account with a name: add one to /etc/passwd, or set DATABASE_URL."
    telling = re.findall(r"(?:FATAL|PANIC|ERROR|error): .*", words)
    last = (telling or words.strip().splitlines() or ["no reason given"])[-1]
    return f"The embedded database does not start: {last.strip()} (log: {here.log})."
