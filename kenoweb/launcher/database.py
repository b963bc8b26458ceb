"""Which database Keno uses, and whether it is fit for use."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.conninfo import conninfo_to_dict

from kenoweb import data_dir
from kenoweb.data_dir import NotReady
from kenoweb.environment import envsecret, envstr

OLDEST_POSTGRES = 15
# The role of web and worker in the embedded database. It owns no tables, so that nothing that
# reaches their connection can switch a trigger off, change a table or rewrite the audit.
APP_ROLE = "keno_app"
GRANTS = Path(__file__).with_name("grants.sql").read_text()


def address(name: str = "DATABASE_URL") -> str:
    """Return the address of that name; "" means that we run the embedded server."""
    url, password = envsecret(name), envsecret("DATABASE_PASSWORD")
    if not url or not password:
        return url
    return f"{url}{'&' if '?' in url else '?'}password={quote(password, safe='')}"


def direct() -> str:
    """Return where sessions last: for workers, commands, migrations and LISTEN."""
    return address("DATABASE_DIRECT_URL") or address("DATABASE_URL")


def replica() -> str:
    """Return where pages that only read may read."""
    return address("DATABASE_READ_URL")


def settings_for(url: str, folder: Path) -> dict:
    """Return Django's settings for the address, or for the embedded server under the folder."""
    role = {}
    if not url:
        from kenoweb.launcher import embedded_postgres

        url = embedded_postgres.url(folder)
        role = {"USER": name} if (name := envstr("KENO_DATABASE_ROLE")) else {}
    return parse(url) | role | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}


def use_pooler(connection: BaseDatabaseWrapper) -> None:
    """Let the pages of this process speak to DATABASE_URL, which may be a transaction pooler.

    There, no cursor outlives its transaction, and no prepared statement.
    """
    if address("DATABASE_DIRECT_URL") and (url := address()):
        values = parse(url) | {"DISABLE_SERVER_SIDE_CURSORS": True}
        values["OPTIONS"] |= {"prepare_threshold": None}
        connection.settings_dict.update(values)


def parse(url: str) -> dict:
    if not url.startswith(("postgres://", "postgresql://")):
        raise ImproperlyConfigured("DATABASE_URL must begin with postgresql://.")
    try:
        options = {"connect_timeout": "10"} | conninfo_to_dict(url)
    except psycopg.Error:
        # The message of psycopg may quote a piece of the password.
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be read: it should look like "
            "postgresql://user:password@host:5432/keno, with special characters in the password "
            "written as %XX (@ is %40, / is %2F, % is %25) and only options that Postgres knows "
            "after the ?."
        ) from None
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": options.pop("dbname", "") or "keno",
        **{name.upper(): options.pop(name, "") for name in ("user", "password", "host", "port")},
        "OPTIONS": options,
    }


def session() -> AbstractContextManager:
    """Check the database, or run the embedded one for as long as a process needs it."""
    if url := direct():
        for each in {url, address() or url}:
            check(each)
        check_direct(url)
        return nullcontext()
    from kenoweb.launcher import embedded_postgres

    return embedded_postgres.session(data_dir.path())


def check(url: str) -> None:
    """Refuse a Postgres that is away, too old or without pgvector, and say what to do."""
    parse(url)
    try:
        with psycopg.connect(url, **_timeout(url)) as connection:
            version = connection.info.server_version // 10000
            if version < OLDEST_POSTGRES:
                raise NotReady(
                    f"This Postgres is version {version} and Keno needs {OLDEST_POSTGRES} or "
                    "newer: upgrade it, or unset DATABASE_URL to use the embedded one."
                )
            _check_vector(connection)
    except psycopg.OperationalError as error:
        raise NotReady(
            f"Postgres does not answer ({_first_line(error)}): check that it runs and that "
            "DATABASE_URL is right."
        ) from None


def check_direct(url: str) -> None:
    """Refuse a pooler that gives every transaction another session, found by trying it.

    Asked three times, while another session asks too, a session must have one server process.
    """
    try:
        with (
            psycopg.connect(url, autocommit=True, **_timeout(url)) as first,
            psycopg.connect(url, autocommit=True, **_timeout(url)) as other,
        ):
            mine, others = {_server_pid(first), _server_pid(first)}, set()
            with other.transaction():
                others.add(_server_pid(other))
                if not mine & others:
                    mine.add(_server_pid(first))
    except psycopg.OperationalError as error:
        raise NotReady(f"Postgres does not answer ({_first_line(error)}).") from None
    if len(mine) > 1 or mine & others:
        raise NotReady(
            "This address is a pooler that gives every transaction another session, where LISTEN "
            "hears nothing: set DATABASE_DIRECT_URL to the Postgres behind it; DATABASE_URL may "
            "stay the pooler."
        )


def _server_pid(connection: psycopg.Connection) -> int:
    # Asked of the server: the number that psycopg knows is that of the pooler's session.
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return row[0] if row else 0


def _timeout(url: str) -> dict:
    return {} if "connect_timeout" in conninfo_to_dict(url) else {"connect_timeout": 10}


def _check_vector(connection: psycopg.Connection) -> None:
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
        return
    query = "SELECT superuser, trusted FROM pg_available_extension_versions WHERE name = 'vector'"
    version = connection.execute(query).fetchone()
    if not version:
        raise NotReady(
            "This Postgres has no pgvector: install the package of its version (on Debian "
            f"postgresql-{connection.info.server_version // 10000}-pgvector), "
            "or unset DATABASE_URL to use the embedded one."
        )
    superuser = "SELECT 1 FROM pg_roles WHERE rolname = current_user AND rolsuper"
    if version == (True, False) and not connection.execute(superuser).fetchone():
        raise NotReady(
            f"pgvector is not switched on in the database {connection.info.dbname}: let an "
            "administrator run CREATE EXTENSION vector; there, then start Keno again."
        )


def grant_app_role(connection: BaseDatabaseWrapper) -> None:
    """Make the role of web and worker, and grant it what they need of the tables."""
    maintain = ", MAINTAIN" if connection.pg_version >= 170000 else ""  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [APP_ROLE])
        if not cursor.fetchone():
            cursor.execute(f"CREATE ROLE {APP_ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE")
        cursor.execute(GRANTS.format(maintain=maintain))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0]


def limit_statements(connection: BaseDatabaseWrapper, **signal: Any) -> None:
    """Stop what runs for a minute: the reader of the page has given up by then."""
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '60s'")
