"""Make the tables of an empty database in one step, as all migrations together would.

`python -m tests.schema --write` writes schema.sql anew; tests/kenoweb/test_schema.py compares it
with the migrations. Where it does not fit, the migrations run one after the other.
"""

import hashlib
import logging
from pathlib import Path

from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

log = logging.getLogger(__name__)

FILE = Path(__file__).with_name("schema.sql")
TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"


def fingerprint(loader: MigrationLoader) -> str:
    """Return a digest of the names of all migrations, also of the dependencies'."""
    names = "\n".join(sorted(".".join(key) for key in loader.disk_migrations))
    return f"-- {hashlib.sha256(names.encode()).hexdigest()}"


def load() -> bool:
    """Make the tables of an empty database and note every migration as run; False if not."""
    executor = MigrationExecutor(connection)
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        is_empty = cursor.fetchone() == (0,)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    head, _newline, statements = FILE.read_text().partition("\n")
    if not is_empty or head != fingerprint(executor.loader):
        return False
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Functions stand before the tables that they use.
            cursor.execute("SET LOCAL check_function_bodies = off")
            cursor.execute(statements)
            for migration, _backwards in plan:
                executor.record_migration(migration)
    except DatabaseError as error:
        log.warning("the tables are made by the migrations: %s", error)
        return False
    return True
