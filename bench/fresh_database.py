"""A new, empty database for one run: on the server of DATABASE_URL, or on an embedded one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql


@contextmanager
def fresh_database(name: str) -> Iterator[str]:
    """Yields its address, which is also in the environment; it is gone afterwards."""
    os.environ.setdefault("KENO_SECRET_KEY", "for benchmarks only, never a secret " * 2)
    with tempfile.TemporaryDirectory(prefix="keno-bench-") as home:
        os.chmod(home, 0o755)
        os.environ["KENO_HOME"] = home
        with _server(Path(home)) as server:
            database = f"{name}_{os.getpid()}"
            _run(server, "CREATE DATABASE {}", database)
            try:
                parts = urlsplit(server)
                os.environ["DATABASE_URL"] = urlunsplit(parts._replace(path=f"/{database}"))
                yield os.environ["DATABASE_URL"]
            finally:
                _run(server, "DROP DATABASE {} WITH (FORCE)", database)


@contextmanager
def _server(home: Path) -> Iterator[str]:
    if url := os.environ.get("DATABASE_URL", ""):
        yield url
        return
    from kenoweb import embedded

    with embedded.session(home) as url:
        yield url


def _run(server: str, statement: str, database: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(sql.Identifier(database)))
