"""A worker's line of life: a connection of its own that holds a lock as long as the process lives.

A killed process closes its connections at once, so the others need not wait for its silence.
"""

import psycopg
from procrastinate.contrib.django.utils import connector_params

from memory.jobs import ALIVE


class Line:
    """Held for one worker; taken anew when the database was gone or the worker was begun anew."""

    def __init__(self):
        self._connection: psycopg.Connection | None = None
        self._worker_id: int | None = None

    def hold(self, worker_id: int) -> None:
        if self._worker_id != worker_id or self._is_cut():
            self.let_go()
            self._connection = psycopg.connect(**connector_params(), autocommit=True)
            self._connection.execute("SELECT pg_try_advisory_lock(%s, %s)", [ALIVE, worker_id])
            self._worker_id = worker_id

    def let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._worker_id = None

    def _is_cut(self) -> bool:
        try:
            self._connection.execute("SELECT 1")
        except psycopg.Error:
            return True
        return False
