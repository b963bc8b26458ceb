"""Which database Keno uses, and whether it is fit for use."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.conninfo import conninfo_to_dict

from kenoweb import data_dir
from kenoweb.data_dir import NotReady
from kenoweb.environment import envsecret, envstr

OLDEST = 15
# Who web and worker are in the embedded database: no owner of tables, so that nothing that reaches
# their connection can switch a trigger off, change a table or rewrite the audit.
APP_ROLE = "keno_app"
GRANTS = """
GRANT USAGE ON SCHEMA public TO keno_app;
GRANT SELECT, INSERT, UPDATE, DELETE{maintain} ON ALL TABLES IN SCHEMA public TO keno_app;
GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO keno_app;
REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM keno_app;
REVOKE UPDATE, DELETE ON memory_auditentry, memory_auditseal FROM keno_app;
GRANT UPDATE (details) ON memory_auditentry TO keno_app;
GRANT UPDATE (salt) ON memory_auditseal TO keno_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO keno_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO keno_app;
"""


def address(name: str = "DATABASE_URL") -> str:
    """The address of that name, or nothing: then the embedded server is ours to run."""
    url, password = envsecret(name), envsecret("DATABASE_PASSWORD")
    if not url or not password:
        return url
    return f"{url}{'&' if '?' in url else '?'}password={quote(password, safe='')}"


def direct() -> str:
    """Where sessions last: for workers, commands, migrations and LISTEN."""
    return address("DATABASE_DIRECT_URL") or address("DATABASE_URL")


def replica() -> str:
    """Where pages that only show may read."""
    return address("DATABASE_READ_URL")


def settings_for(url: str, folder: Path) -> dict:
    """Django's settings for the given address, or for the embedded server under the folder."""
    if not url:
        from kenoweb.launcher import embedded_postgres

        url = embedded_postgres.url(folder)
        role = {"USER": name} if (name := envstr("KENO_DATABASE_ROLE")) else {}
        return parse(url) | role | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    return parse(url) | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}


def use_pooler(connection: BaseDatabaseWrapper) -> None:
    """Let the pages of this process speak to DATABASE_URL, which may be a transaction pooler.

    Of a session nothing lasts there: no cursor that outlives its transaction, nothing prepared.
    """
    if address("DATABASE_DIRECT_URL") and (url := address()):
        values = parse(url) | {"DISABLE_SERVER_SIDE_CURSORS": True}
        values["OPTIONS"] |= {"prepare_threshold": None}
        connection.settings_dict.update(values)


def parse(url: str) -> dict:
    if not url.startswith(("postgres://", "postgresql://")):
        raise ImproperlyConfigured("DATABASE_URL must begin with postgresql://.")
    try:
        found = {"connect_timeout": "10"} | conninfo_to_dict(url)
    except psycopg.Error:
        # What psycopg says may quote a piece of the password.
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be read: it should look like "
            "postgresql://user:password@host:5432/keno, with special characters in the password "
            "written as %XX (@ is %40, / is %2F, % is %25) and only options that Postgres knows "
            "after the ?."
        ) from None
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": found.pop("dbname", "") or "keno",
        "USER": found.pop("user", ""),
        "PASSWORD": found.pop("password", ""),
        "HOST": found.pop("host", ""),
        "PORT": found.pop("port", ""),
        "OPTIONS": found,
    }


def url_of(values: dict) -> str:
    """The address for Django's settings: the way back from `parse`, for other programs."""
    known = ("NAME", "USER", "PASSWORD", "HOST", "PORT")
    given = {name.lower(): values[name] for name in known if values.get(name)}
    given["dbname"] = given.pop("name", "")
    return f"postgresql:///?{urlencode(given | values.get('OPTIONS', {}), quote_via=quote)}"


def session() -> AbstractContextManager:
    """The database for as long as a process needs it: checked, or started when it is ours."""
    if url := direct():
        for one in {url, address() or url}:
            check(one)
        check_direct(url)
        return nullcontext()
    from kenoweb.launcher import embedded_postgres

    return embedded_postgres.session(data_dir.path())


def check(url: str) -> None:
    """Refuse a Postgres that is away, too old or without pgvector, and say what to do."""
    parse(url)
    try:
        with psycopg.connect(url, **_patience(url)) as connection:
            version = connection.info.server_version // 10000
            if version < OLDEST:
                raise NotReady(
                    f"This Postgres is version {version} and Keno needs {OLDEST} or newer: "
                    "upgrade it, or unset DATABASE_URL to use the embedded one."
                )
            _check_vector(connection)
    except psycopg.OperationalError as error:
        raise NotReady(
            f"Postgres does not answer ({_first_line(error)}): check that it runs and that "
            "DATABASE_URL is right."
        ) from None


def check_direct(url: str) -> None:
    """Refuse a pooler that gives every transaction another session, found by trying it.

    Asked three times, while somebody else asks too, one session has to have one server process.
    """
    try:
        with (
            psycopg.connect(url, autocommit=True, **_patience(url)) as one,
            psycopg.connect(url, autocommit=True, **_patience(url)) as other,
        ):
            mine, others = {_server(one), _server(one)}, set()
            with other.transaction():
                others.add(_server(other))
                if not mine & others:
                    mine.add(_server(one))
    except psycopg.OperationalError as error:
        raise NotReady(f"Postgres does not answer ({_first_line(error)}).") from None
    if len(mine) > 1 or mine & others:
        raise NotReady(
            "This address is a pooler that gives every transaction another session, where LISTEN "
            "hears nothing: set DATABASE_DIRECT_URL to the Postgres behind it; DATABASE_URL may "
            "stay the pooler."
        )


def _server(connection: psycopg.Connection) -> int:
    found = connection.execute("SELECT pg_backend_pid()").fetchone()
    return found[0] if found else 0


def _patience(url: str) -> dict:
    return {} if "connect_timeout" in conninfo_to_dict(url) else {"connect_timeout": 10}


def _check_vector(connection: psycopg.Connection) -> None:
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
        return
    query = "SELECT superuser, trusted FROM pg_available_extension_versions WHERE name = 'vector'"
    found = connection.execute(query).fetchone()
    if not found:
        raise NotReady(
            "This Postgres has no pgvector: install the package of its version (on Debian "
            f"postgresql-{connection.info.server_version // 10000}-pgvector), "
            "or unset DATABASE_URL to use the embedded one."
        )
    may = "SELECT 1 FROM pg_roles WHERE rolname = current_user AND rolsuper"
    if found == (True, False) and not connection.execute(may).fetchone():
        raise NotReady(
            f"pgvector is not switched on in the database {connection.info.dbname}: let an "
            "administrator run CREATE EXTENSION vector; there, then start Keno again."
        )


def grant_app_role(connection: BaseDatabaseWrapper) -> None:
    """Make the role of web and worker, and give it what they need of the tables that are there."""
    maintain = ", MAINTAIN" if connection.pg_version >= 170000 else ""  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [APP_ROLE])
        if not cursor.fetchone():
            cursor.execute(f"CREATE ROLE {APP_ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE")
        cursor.execute(GRANTS.format(maintain=maintain))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0]


def limit_statements(connection: BaseDatabaseWrapper, **signal: Any) -> None:
    """No page may keep the database busy after its reader has given up."""
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '60s'")
