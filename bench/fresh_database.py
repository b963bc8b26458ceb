"""A new, empty database for one run: on the server of DATABASE_URL, or on an embedded one."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from kenoweb.launcher import database
from tests.database_url import url_of


@contextmanager
def fresh_database(name: str, *, template: str = "template1", keep: bool = False) -> Iterator[str]:
    """Yields its address, which is also in the environment; it is gone afterwards.

    With `keep` it is made only where there is none, and stays for the next run.
    """
    os.environ.setdefault("KENO_SECRET_KEY", "for benchmarks only, never a secret " * 2)
    with tempfile.TemporaryDirectory(prefix="keno-bench-") as home:
        os.chmod(home, 0o755)
        os.environ["KENO_HOME"] = home
        with _server(Path(home)) as server:
            before = os.environ.get("DATABASE_URL")
            new = name if keep else f"{name}_{os.getpid()}"
            if not (keep and _exists(server, name)):
                _run(server, "CREATE DATABASE {} TEMPLATE {}", new, template)
            try:
                # The name may stand in the path or behind the ?, with or without a host before it.
                os.environ["DATABASE_URL"] = url_of(database.parse(server) | {"NAME": new})
                yield os.environ["DATABASE_URL"]
            finally:
                _restore("DATABASE_URL", before)
                if not keep:
                    _run(server, "DROP DATABASE {} WITH (FORCE)", new)


def _restore(name: str, value: str | None) -> None:
    """The next run begins where this one did."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextmanager
def _server(home: Path) -> Iterator[str]:
    if url := os.environ.get("DATABASE_URL", ""):
        yield url
        return
    from kenoweb.launcher import embedded_postgres

    with embedded_postgres.session(home) as url:
        yield url


def _exists(server: str, name: str) -> bool:
    with psycopg.connect(server) as connection:
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", [name])
        return found.rowcount > 0


def _run(server: str, statement: str, *names: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def encrypt(spaces: list) -> float:
    """Encrypt the spaces under a key of this run; return how many seconds that took."""
    from django.conf import settings
    from django.utils import timezone

    from memory.models import encryption as keys
    from memory.spaces import encryption

    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(encryption.new_key_file())
    settings.KENO_CONTENT_KEY_FILE = file.name
    began = time.perf_counter()
    for space in spaces:
        encryption.switch_on(space, by="bench")
        keys.forget()
        encryption.work(space.pk, now=timezone.now())
    return time.perf_counter() - began
