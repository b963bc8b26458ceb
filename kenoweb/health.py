"""Is Keno fit to work? Each check gives a sentence about what is wrong, or nothing."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

LEAST_FREE = 0.10


def ready() -> dict[str, str]:
    """Every check by name; all sentences empty means ready."""
    return {name: check() for name, check in CHECKS.items()}


def database() -> str:
    try:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return "The database does not answer."
    return ""


def migrations() -> str:
    try:
        waiting = _shipped() - set(MigrationRecorder(connection).applied_migrations())
    except Error:
        return "The database does not answer."
    return "The tables are older than the program: run manage.py migrate." if waiting else ""


def disk() -> str:
    """Both the data folder and, when it is ours, the database's."""
    for folder in _folders():
        usage = shutil.disk_usage(folder)
        if usage.free < usage.total * LEAST_FREE:
            return f"Less than {LEAST_FREE:.0%} of the disk is free."
    return ""


# More checks join here: health.CHECKS["queue"] = queue.age
CHECKS: dict[str, Callable[[], str]] = {
    "database": database,
    "migrations": migrations,
    "disk": disk,
}


@cache
def _shipped() -> set[tuple[str, str]]:
    """Every migration of this program; read from disk once."""
    return set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)


def _folders() -> set[Path]:
    folders = {settings.KENO_HOME}
    if not settings.DATABASE_URL:
        from kenoweb.postgres_account import place

        folders.add(place(settings.KENO_HOME).base)
    return {next(part for part in (folder, *folder.parents) if part.exists()) for folder in folders}
