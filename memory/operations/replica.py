"""Pages that only show may read from a streaming replica, when it has all that its reader wrote.

`DATABASE_READ_URL` names it. A reply, a right and a write are never a replica's.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InternalError, OperationalError, connections

REPLICA = "replica"
# What a replica cannot do, or not any more; the primary is asked then.
REFUSALS = (InternalError, OperationalError)
# A replica that receives nothing would show old days as if they were today.
HAS_REPLAYED = """
SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn AND EXISTS (SELECT FROM pg_stat_wal_receiver)
AND (pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn()
     OR now() - pg_last_xact_replay_timestamp() < make_interval(secs => %s))
"""
MOST_SECONDS = 10
BEHIND = """
SELECT greatest(0, pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn())),
       extract(epoch FROM now() - pg_last_xact_replay_timestamp())
"""


def is_there() -> bool:
    return REPLICA in connections.settings


def position(*, on_disk: bool = False) -> str:
    """Return where the log of the primary ends now; all that was written lies before it.

    What is not on disk yet has not been sent to the replica either, though it was written.
    """
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(f"SELECT pg_current_wal_{'flush' if on_disk else 'insert'}_lsn()::text")
        return cursor.fetchone()[0]


def has_replayed(written: str) -> bool:
    """Tell whether the replica answers, follows its primary and has all until this position."""
    try:
        with connections[REPLICA].cursor() as cursor:
            cursor.execute(HAS_REPLAYED, [written or "0/0", MOST_SECONDS])
            return bool(cursor.fetchone()[0])
    except DatabaseError:
        connections[REPLICA].close()
        return False


@contextmanager
def reading() -> Iterator[None]:
    """Send every query of this thread to the replica; a write raises one of REFUSALS."""
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[REPLICA]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary


def lag() -> tuple[int, float] | None:
    """Return the bytes and seconds that the replica is behind; None if it does not answer."""
    try:
        with connections[REPLICA].cursor() as cursor:
            cursor.execute(BEHIND, [position(on_disk=True)])
            size, seconds = cursor.fetchone()
    except DatabaseError:
        connections[REPLICA].close()
        return None
    # A primary at rest sends nothing, so its replica is not late.
    return int(size or 0), float(seconds or 0) if size else 0.0
