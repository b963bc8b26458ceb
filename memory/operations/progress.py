"""The progress of a job, written outside its transaction, so that a page can show it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DatabaseError, connection, models

Tell = Callable[..., None]


@contextmanager
def beside(row: models.Model, *, seconds: float) -> Iterator[Tell]:
    """Yield a function that writes (done, total) to the row over another connection."""
    other, last = connection.copy(), 0.0
    statement = f"UPDATE {row._meta.db_table} SET done = %s, total = %s WHERE id = %s"

    def tell(done: int, total: int, *_what: Any) -> None:
        nonlocal last
        if time.monotonic() - last < seconds:
            return
        last = time.monotonic()
        # Progress that cannot be written must not stop the work.
        with suppress(DatabaseError), other.cursor() as cursor:
            cursor.execute("SET lock_timeout = '100ms'")
            cursor.execute(statement, [done, total, row.pk])

    try:
        yield tell
    finally:
        other.close()
