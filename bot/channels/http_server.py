"""A very small HTTP server for what other programs send us: one request, one JSON answer.

Everything is bounded: the head, the body (refused by its announced length, before it is read)
and the time. A proxy of yours stands in front for HTTPS.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from django.db import DatabaseError

log = logging.getLogger(__name__)

HEAD_BYTES = 16 * 1024
BODY_BYTES = 1024 * 1024
READ_SECONDS = 10
CONNECTIONS = 100
AWAY_SECONDS = 5


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""

    def json(self) -> object:
        """What the body holds; ValueError when it is no JSON."""
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("too deep") from error


@dataclass(frozen=True)
class Response:
    status: int
    body: dict = field(default_factory=dict)
    # Whole seconds after which to ask again.
    after: int | None = None


class Refused(Exception):
    """A request that is answered before anybody looks at it."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.response = Response(status, {"error": sentence})


Handle = Callable[[Request], Awaitable[Response]]


@asynccontextmanager
async def serve(handle: Handle, *, host: str, port: int) -> AsyncIterator[asyncio.Server]:
    places = asyncio.Semaphore(CONNECTIONS)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with places:
            await _answer(handle, reader, writer)

    server = await asyncio.start_server(connected, host, port, limit=HEAD_BYTES)
    try:
        yield server
    finally:
        server.close()


async def _answer(handle: Handle, reader, writer) -> None:
    try:
        async with asyncio.timeout(READ_SECONDS):
            request = await read(reader)
        response = await handle(request)
    except Refused as refused:
        response = refused.response
    except TimeoutError:
        response = Response(408, {"error": "The request took too long to arrive."})
    except (ConnectionError, asyncio.IncompleteReadError):
        writer.close()
        return
    except DatabaseError as error:
        # Gone, or its disk is full: nothing was kept, and who sends it again loses nothing.
        log.error("a request failed", extra={"why": str(error).partition("\n")[0]})
        away = {"error": "The database does not answer. Nothing was kept: send it again."}
        response = Response(503, away, after=AWAY_SECONDS)
    except Exception:
        log.exception("a request failed")
        response = Response(500, {"error": "Something went wrong here. It was written down."})
    try:
        writer.write(as_bytes(response))
        async with asyncio.timeout(READ_SECONDS):
            await writer.drain()
    except (ConnectionError, TimeoutError):
        log.info("nobody waited for the answer")
    finally:
        writer.close()


async def read(reader: asyncio.StreamReader) -> Request:
    """One request; Refused with a sentence when it is too large or not understood."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise Refused(431, "The headers are too long.") from error
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise Refused(400, "This is no HTTP request.")
    headers = _headers(lines)
    if "transfer-encoding" in headers:
        raise Refused(411, "Send the body with a Content-Length.")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise Refused(400, "The Content-Length is no number.")
    if int(length) > BODY_BYTES:
        raise Refused(413, f"The body may have {BODY_BYTES} bytes.")
    body = await reader.readexactly(int(length))
    return Request(parts[0], parts[1].partition("?")[0], headers, body)


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in filter(None, lines):
        name, colon, value = line.partition(":")
        if not colon or name != name.strip() or name.lower() in headers:
            # Two lengths or two signatures: nobody can say which one counts.
            raise Refused(400, "The headers cannot be read.")
        headers[name.lower()] = value.strip()
    return headers


def as_bytes(response: Response) -> bytes:
    body = json.dumps(response.body, ensure_ascii=False).encode()
    reason = HTTPStatus(response.status).phrase
    again = "" if response.after is None else f"Retry-After: {response.after}\r\n"
    head = (
        f"HTTP/1.1 {response.status} {reason}\r\nContent-Type: application/json; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\nCache-Control: no-store\r\n"
        f"X-Content-Type-Options: nosniff\r\n{again}\r\n"
    )
    return head.encode("latin-1") + body
