"""Django's migrate; an empty database gets all its tables at once, a busy one is not blocked."""

from contextlib import suppress

from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError, ProgrammingError, connections
from psycopg.errors import DeadlockDetected, LockNotAvailable

from kenoweb.launcher import schema

# With these options it does something else than make tables.
OTHER_TASKS = ("app_label", "plan", "check_unapplied", "fake", "prune")
# While a change of a table waits for its lock, everything else waits behind it. After this time it
# gives up and tries again.
LOCK_TIMEOUT = "3s"
# Shorter than that of other sessions, so that of two in a deadlock the migration gives up.
DEADLOCK_TIMEOUT = "100ms"
ATTEMPTS = 20
IN_USE = """
SELECT pid, coalesce(nullif(application_name, ''), usename),
  extract(epoch FROM now() - xact_start)::int
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
ORDER BY xact_start LIMIT 1
"""


class Command(Migrate):
    def handle(self, *args, **options):
        is_other_task = any(options[name] for name in OTHER_TASKS)
        if not is_other_task and options["database"] == DEFAULT_DB_ALIAS:
            schema.load()
        connection = connections[options["database"]]
        self._run(connection, "SET lock_timeout = %s", [LOCK_TIMEOUT])
        with suppress(ProgrammingError):  # Postgres lets only its superuser choose it
            self._run(connection, "SET deadlock_timeout = %s", [DEADLOCK_TIMEOUT])
        try:
            for _ in range(ATTEMPTS):
                try:
                    return super().handle(*args, **options)
                except OperationalError as error:
                    if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                        raise
            raise CommandError(self._in_use(connection))
        finally:
            self._run(connection, "RESET lock_timeout", [])
            with suppress(ProgrammingError):
                self._run(connection, "RESET deadlock_timeout", [])

    def _in_use(self, connection) -> str:
        who = "somebody was at work"
        for pid, name, seconds in self._run(connection, IN_USE, []):
            who = f"{name} (process {pid} of Postgres) has been at work for {seconds} s"
        return (
            f"A table is in use: {who}. Migrations that "
            "were finished stay; of the one that waited nothing was changed. Stop what is at "
            "work, such as the bot, and migrate again."
        )

    @staticmethod
    def _run(connection, statement: str, values: list) -> list:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []
