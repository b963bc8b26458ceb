"""The pipe between an agent and us: standard input and output, for the protocol alone."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO

import anyio
from asgiref.sync import sync_to_async
from django.db import connections
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

# No call needs a longer line; what is longer is answered as no protocol.
MAX_LINE = 2**20


def serve(server: Server) -> None:
    """Until the other side closes our standard input, or somebody stops us."""
    with the_output() as wire:
        anyio.run(_serve, server, wire)


async def _serve(server: Server, wire: TextIO) -> None:
    try:
        async with anyio.create_task_group() as both:
            both.start_soon(_stop_when_told, both.cancel_scope)
            given = {"stdin": await the_input(), "stdout": anyio.wrap_file(wire)}
            async with stdio_server(**given) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
            both.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await sync_to_async(connections.close_all)()


async def _stop_when_told(scope: anyio.CancelScope) -> None:
    # Ended properly also then: the last process out stops the embedded database.
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as told:
        async for _signal in told:
            scope.cancel()


async def the_input() -> AsyncIterator[str] | None:
    """The lines of standard input; None where the SDK must read it, for it is a file.

    The SDK reads in a thread, which nothing can interrupt, and lines of any length.
    """
    reader = asyncio.StreamReader(limit=MAX_LINE)
    pipe = os.fdopen(os.dup(0), "rb", buffering=0)
    try:
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    except ValueError:
        pipe.close()
        return None
    return _lines(reader)


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            yield "too long"
            continue
        if not line:
            return
        yield line.decode("utf-8", "replace")


@contextmanager
def the_output() -> Iterator[TextIO]:
    """Standard output for us alone: whatever else prints, prints to standard error.

    The SDK turns the descriptor around too, but what Python still holds in its buffer then would
    be written at the end, into the protocol.
    """
    sys.stdout.flush()
    wire = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield wire
    finally:
        os.dup2(wire.fileno(), 1)
        wire.close()
