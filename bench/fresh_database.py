"""A new, empty database for one run: on the server of DATABASE_URL, or on an embedded one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from kenoweb import database


@contextmanager
def fresh_database(name: str, *, template: str = "template1") -> Iterator[str]:
    """Yields its address, which is also in the environment; it is gone afterwards."""
    os.environ.setdefault("KENO_SECRET_KEY", "for benchmarks only, never a secret " * 2)
    with tempfile.TemporaryDirectory(prefix="keno-bench-") as home:
        os.chmod(home, 0o755)
        os.environ["KENO_HOME"] = home
        with _server(Path(home)) as server:
            before, new = os.environ.get("DATABASE_URL"), f"{name}_{os.getpid()}"
            _run(server, "CREATE DATABASE {} TEMPLATE {}", new, template)
            try:
                # The name may stand in the path or behind the ?, with or without a host before it.
                os.environ["DATABASE_URL"] = database.url_of(database.parse(server) | {"NAME": new})
                yield os.environ["DATABASE_URL"]
            finally:
                _restore("DATABASE_URL", before)
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
    from kenoweb import embedded

    with embedded.session(home) as url:
        yield url


def _run(server: str, statement: str, *names: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
