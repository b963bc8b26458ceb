"""One process among many: whoever holds the lock in the database leads, and gives it by dying."""

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from django.db import connection

log = logging.getLogger(__name__)

# Says "a channel" among advisory locks; the second number is its name.
LOCK_CLASS = 0x4348
POLL_SECONDS = 5


class LeadershipLost(Exception):
    """The connection that held the lock is gone; another process may lead now."""


@asynccontextmanager
async def hold_leadership(name: str, stop: asyncio.Event) -> AsyncIterator[bool]:
    """Wait until no other process leads; False when told to stop before that.

    When the connection breaks, so does what runs inside: the lock is gone with it.
    """
    params = connection.get_connection_params()
    params.pop("cursor_factory", None)
    params.pop("context", None)
    async with await psycopg.AsyncConnection.connect(**params, autocommit=True) as held:
        while not await _try_lock(held, name):
            if stop.is_set():
                yield False
                return
            await _sleep(stop)
        watching = asyncio.create_task(_watch(held, asyncio.current_task()))
        try:
            yield True
        except asyncio.CancelledError as cancelled:
            if watching.done():
                raise LeadershipLost from cancelled
            raise
        finally:
            watching.cancel()


async def _try_lock(held: psycopg.AsyncConnection, name: str) -> bool:
    number = zlib.crc32(name.encode()) & 0x7FFFFFFF
    row = await held.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK_CLASS, number])
    return (await row.fetchone())[0]


async def _watch(held: psycopg.AsyncConnection, leader: asyncio.Task) -> None:
    while True:
        await asyncio.sleep(POLL_SECONDS)
        try:
            await held.execute("SELECT 1")
        except psycopg.Error:
            log.warning("lost the lead: the database went away")
            leader.cancel()
            return


async def _sleep(stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(POLL_SECONDS):
            await stop.wait()
    except TimeoutError:
        return
