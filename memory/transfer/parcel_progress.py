"""How far a job is, for whoever looks at the page while its transaction is still open."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, connection

from memory.models import Parcel
from memory.transfer.session import Progress

EVERY = 1.0
# Below this nobody waits long enough to look.
LARGE = 300_000


@contextmanager
def shown(parcel: Parcel) -> Iterator[Progress]:
    """A progress that writes through a connection of its own, for the work's is not committed."""
    if parcel.way == Parcel.Way.IN and parcel.size <= LARGE:
        yield lambda done, total, what: None
        return
    beside, last = connection.copy(), 0.0

    def tell(done: int, total: int, what: str) -> None:
        nonlocal last
        if time.monotonic() - last < EVERY:
            return
        last = time.monotonic()
        table = connection.ops.quote_name(Parcel._meta.db_table)
        # A number that is not shown is no reason to stop.
        with suppress(DatabaseError), beside.cursor() as cursor:
            cursor.execute(
                f"UPDATE {table} SET done = %s, total = %s WHERE id = %s", [done, total, parcel.pk]
            )

    try:
        yield tell
    finally:
        beside.close()
