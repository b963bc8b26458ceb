"""Leases: rows with a holder and an end, for what only one process may do.

Unlike a lock of a session they hold behind any pooler. A holder renews its lease; when it dies,
another process takes the lease as soon as it ends.
"""

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import NamedTuple

from django.db import DatabaseError, connection

# Other processes look each second, so they take over from a dead one within ten seconds.
SECONDS = 8
# Clocks of machines differ, so without `now` the clock of the database counts.
TAKE = """
INSERT INTO memory_lease AS held (name, holder, until)
VALUES (%(name)s, %(holder)s, coalesce(%(now)s, clock_timestamp()) + %(seconds)s * interval '1 s')
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE held.holder = excluded.holder OR held.until < coalesce(%(now)s, clock_timestamp())
"""
RENEW = """
UPDATE memory_lease SET until = coalesce(%s, clock_timestamp()) + %s * interval '1 s'
WHERE holder = ANY(%s)
"""
IS_HELD = """
SELECT EXISTS (SELECT 1 FROM memory_lease
WHERE name = %s AND until >= coalesce(%s, clock_timestamp()))
"""


class Taken(Exception):
    """Another process holds this lease."""


class Held(NamedTuple):
    name: str
    holder: str


_mine: set[Held] = set()


def offer(name: str) -> Held:
    """Return the lease as this process would hold it, with a holder that no other has."""
    return Held(name, f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(8)}")


def take(lease: Held, *, now: datetime | None = None) -> bool:
    """Take the lease, or renew it; False when another holds it."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE, lease._asdict() | {"now": now, "seconds": SECONDS})
        return cursor.rowcount == 1


def confirm(lease: Held, *, now: datetime | None = None) -> None:
    """Renew the lease, or raise: what the transaction around it wrote is not kept then."""
    if not _renew([lease.holder], now=now):
        raise Taken


def renew(*, now: datetime | None = None) -> None:
    """Renew all that this process holds; for the beat of a worker."""
    if holders := [lease.holder for lease in list(_mine)]:
        _renew(holders, now=now)


def _renew(holders: list[str], *, now: datetime | None) -> int:
    with connection.cursor() as cursor:
        cursor.execute(RENEW, [now, SECONDS, holders])
        return cursor.rowcount


def release(lease: Held) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memory_lease WHERE name = %s AND holder = %s", list(lease))


def is_held(name: str, *, now: datetime | None = None) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(IS_HELD, [name, now])
        return cursor.fetchone()[0]


@contextmanager
def hold(name: str, *, now: datetime | None = None) -> Iterator[Held]:
    """Hold the lease inside, or raise Taken."""
    lease = offer(name)
    if not take(lease, now=now):
        raise Taken
    _mine.add(lease)
    try:
        yield lease
    finally:
        _mine.discard(lease)
        # Without a database it ends by itself.
        with suppress(DatabaseError):
            release(lease)
