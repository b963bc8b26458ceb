"""Hold a database lock on a connection of its own for as long as this worker's process lives.

A killed process loses its connections at once, so other workers can take over its jobs without
waiting for a missed heartbeat.
"""

import psycopg
from procrastinate.contrib.django.utils import connector_params

from memory.queue.jobs import WORKER_LOCK_CLASS


class WorkerLock:
    """The lock of one worker, taken again after the database was gone or the worker restarted."""

    def __init__(self):
        self._connection: psycopg.Connection | None = None
        self._worker_id: int | None = None

    def acquire(self, worker_id: int) -> None:
        if self._worker_id != worker_id or self._is_lost():
            self.release()
            self._connection = psycopg.connect(**connector_params(), autocommit=True)
            self._connection.execute(
                "SELECT pg_try_advisory_lock(%s, %s)", [WORKER_LOCK_CLASS, worker_id]
            )
            self._worker_id = worker_id

    def release(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._worker_id = None

    def _is_lost(self) -> bool:
        try:
            self._connection.execute("SELECT 1")
        except psycopg.Error:
            return True
        return False
