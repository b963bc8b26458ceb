"""The port of channels that other programs call: one request, one JSON answer, by uvicorn.

Everything is bounded: the head, the body (refused by its announced length, before it is read)
and the time. A proxy of yours stands in front for HTTPS.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx
import uvicorn
from asgiref.sync import sync_to_async
from django.db import DatabaseError
from starlette import requests as asgi
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from memory.chats import inbox
from memory.chats import service as chats
from memory.models import Message, Space

log = logging.getLogger(__name__)
HEAD_BYTES = 16 * 1024
BODY_BYTES = 1024 * 1024
READ_SECONDS = 10
CONNECTIONS = 100
# Requests of one address whose head has not arrived yet.
HALF_OPEN = 32
AWAY_SECONDS = 5
TIMESTAMP, SIGNATURE = "x-keno-timestamp", "x-keno-signature"
WINDOW_SECONDS = 300
PREFIX = "sha256="
# What stands before a signed answer, so that nobody can send it back to us as a question.
REPLY = b"keno-reply."
TIMEOUT_SECONDS = 10
# Addresses that lead to an IPv4 address inside them.
TUNNEL_NETWORKS = [
    ipaddress.ip_network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "::/96")
]
# Site-local and documentation: no public host is there, whatever an older Python thinks.
NOWHERE = [ipaddress.ip_network(net) for net in ("fec0::/10", "3fff::/20")]
Resolve = Callable[[str, int], Awaitable[list[str]]]
POLL_SECONDS = 0.1
TRACES = ("text", "voice")
CALLBACK = "callback"


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


def answer(status: int, body: dict, *, after: int | None = None) -> JSONResponse:
    """Return the answer; `after` says in how many seconds to ask again."""
    again = {} if after is None else {"retry-after": str(after)}
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"} | again
    return JSONResponse(body, status_code=status, headers=headers)


class Refused(Exception):
    """A request that is not taken, with what is wrong."""

    status = 400


class TooLarge(Refused):
    """A body that is larger than we take."""

    status = 413


class BadSignature(Refused):
    """A request that is not proved to come from who knows the secret, with what to do."""

    status = 401


class CallbackRefused(Refused):
    """This address cannot be called."""


Handle = Callable[[Request], Awaitable[JSONResponse]]


class _Impatient(H11Protocol):
    """A connection that hangs up on whoever does not say what it wants."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if sum(self._waits_like(other) for other in self.connections) > HALF_OPEN:
            transport.close()
        self.loop.call_later(READ_SECONDS, self._hang_up)

    def _waits_like(self, other: Any) -> bool:
        if not (self.client and other.client):
            return False
        return self.client[0] == other.client[0] and other.cycle is None

    def _hang_up(self) -> None:
        if self.cycle is None:
            self.transport.close()


class _Server(uvicorn.Server):
    """The worker has its own handlers for signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve(handle: Handle, *, host: str, port: int) -> AsyncIterator[int]:
    """Answer requests until the end of the block; gives the port."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await _answer(handle, asgi.Request(scope, receive))
        await response(scope, receive, send)

    with socket.create_server((host, port)) as listening:
        config = uvicorn.Config(
            app,
            http=_Impatient,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            h11_max_incomplete_event_size=HEAD_BYTES,
            timeout_graceful_shutdown=1,
        )
        server = _Server(config)
        running = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await running


async def _answer(handle: Handle, asked: asgi.Request) -> JSONResponse:
    try:
        async with asyncio.timeout(READ_SECONDS):
            body = await _body(asked)
        headers = {name.lower(): value for name, value in asked.headers.items()}
        return await handle(Request(asked.method, asked.url.path, headers, body))
    except Refused as refused:
        return answer(refused.status, {"error": str(refused)})
    except TimeoutError:
        return answer(408, {"error": "The request took too long to arrive."})
    except DatabaseError as error:
        # Gone, or its disk is full: nothing was kept, and who sends it again loses nothing.
        log.error("a request failed", extra={"why": str(error).partition("\n")[0]})
        away = {"error": "The database does not answer. Nothing was kept: send it again."}
        return answer(503, away, after=AWAY_SECONDS)
    except Exception:
        log.exception("a request failed")
        return answer(500, {"error": "Something went wrong here. It was written down."})


async def _body(asked: asgi.Request) -> bytes:
    """The body; refused by its announced length, before it is read, or when it goes on."""
    for name in (TIMESTAMP, SIGNATURE):
        if len(asked.headers.getlist(name)) > 1:
            # Nobody can say which one counts.
            raise Refused("The headers cannot be read.")
    too_large = TooLarge(f"The body may have {BODY_BYTES} bytes.")
    announced = asked.headers.get("content-length", "0")
    if len(announced) > 12 or int(announced) > BODY_BYTES:
        raise too_large
    body = b""
    async for chunk in asked.stream():
        body += chunk
        if len(body) > BODY_BYTES:
            raise too_large
    return body


def sign(secret: str, *, body: bytes, at: float, label: bytes = b"") -> dict[str, str]:
    """The headers of a signed request; an answer of ours is signed with the label REPLY."""
    stamp = str(int(at))
    return {TIMESTAMP: stamp, SIGNATURE: PREFIX + _digest(secret, stamp, body, label=label)}


def check(
    secret: str, *, headers: dict[str, str], body: bytes, now: float, label: bytes = b""
) -> str:
    """The signature, when it is good. It is the same for the same request alone."""
    stamp, given = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
    if not secret:
        raise BadSignature("No secret is configured; nobody may call.")
    if not stamp or not given:
        raise BadSignature("Sign the request: X-Keno-Timestamp and X-Keno-Signature are needed.")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        raise BadSignature("X-Keno-Timestamp must be the time in whole seconds.")
    wanted = PREFIX + _digest(secret, stamp, body, label=label)
    if not hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode()):
        raise BadSignature("The signature does not fit the timestamp and the body.")
    # Only who knows the secret learns that the clock is wrong.
    if abs(now - int(stamp)) > WINDOW_SECONDS:
        raise BadSignature("The request is older than five minutes, or a clock is wrong.")
    return given.removeprefix(PREFIX)


def _digest(secret: str, stamp: str, body: bytes, *, label: bytes = b"") -> str:
    signed = label + stamp.encode() + b"." + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def parse(url: str) -> SplitResult:
    """The parts of an address we may call; CallbackRefused with a sentence otherwise."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise CallbackRefused("The callback is no address.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CallbackRefused("The callback must begin with http:// or https://.")
    if parts.username is not None or parts.password is not None or port == 0:
        raise CallbackRefused("The callback may hold no name and password.")
    return parts


def is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    tunnelled = ip.version == 6 and any(ip in net for net in (*TUNNEL_NETWORKS, *NOWHERE))
    return ip.is_global and not ip.is_multicast and not tunnelled


async def resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(entry[4][0] for entry in found))


async def post(
    url: str,
    *,
    body: bytes,
    headers: dict[str, str],
    private: bool = False,
    resolve: Resolve = resolve,
) -> int:
    """Send it; the status that came back. CallbackRefused before anything is connected."""
    parts = parse(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    ip = await _reachable(parts, port, private=private, resolve=resolve)
    there = httpx.URL(url).copy_with(host=ip, port=port)
    # trust_env: a proxy of the environment would look the name up again.
    async with httpx.AsyncClient(
        timeout=TIMEOUT_SECONDS, trust_env=False, follow_redirects=False
    ) as http:
        request = http.build_request(
            "POST",
            there,
            content=body,
            headers={"host": parts.netloc, "content-type": "application/json"} | headers,
            extensions={"sni_hostname": parts.hostname},
        )
        answer = await http.send(request, stream=True)
        await answer.aclose()
        return answer.status_code


async def _reachable(parts: SplitResult, port: int, *, private: bool, resolve: Resolve) -> str:
    """The address to connect to; CallbackRefused when one of them is private."""
    try:
        addresses = await resolve(parts.hostname or "", port)
    except (OSError, UnicodeError) as error:
        raise httpx.ConnectError(f"{parts.hostname} is not found.") from error
    if not addresses or not (private or all(map(is_public, addresses))):
        raise CallbackRefused("The callback leads into a private network.")
    return addresses[0].partition("%")[0]


async def check_callback(url: str, *, private: bool) -> None:
    """Refuse a callback that leads into a private network; a name may come up later."""
    parts = parse(url)
    with suppress(httpx.ConnectError):
        await _reachable(parts, parts.port or 80, private=private, resolve=resolve)


def parse_message(request: Request) -> dict:
    """The fields of a message, with defaults; Refused with a sentence."""
    try:
        body = request.json()
    except ValueError as error:
        raise Refused("The body is no JSON.") from error
    if not isinstance(body, dict):
        raise Refused("The body must be a JSON object.")
    text = body.get("message", body.get("text"))
    if not isinstance(text, str) or not text.strip():
        raise Refused("The message field is missing or no text.")
    said = {"text": text}
    for name, default in (
        ("chat_id", "main"),
        ("author", ""),
        ("author_id", ""),
        ("id", ""),
        ("trace", "text"),
        ("callback", ""),
    ):
        value = body.get(name, default)
        if not isinstance(value, str | int) or isinstance(value, bool) or len(str(value)) > 2000:
            raise Refused(f"The field {name} must be a short text.")
        said[name] = str(value)
    if said["trace"] not in TRACES:
        raise Refused("The field trace is text or voice.")
    if said["callback"]:
        parse(said["callback"])
    return said


def store_message(space: Space, said: dict, *, mark: str) -> Message:
    """The row of this message; the same request, or the same id, again is the same row."""
    chat = chats.find_or_open(space, channel="http", external_id=said["chat_id"])
    name = f"id-{said['id']}" if said["id"] else f"signed-{mark}"
    external_id = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
    notes = [{"outcome": CALLBACK, "url": said["callback"]}] if said["callback"] else []
    taken = inbox.receive(
        chat,
        text=said["text"],
        external_id=external_id,
        author=said["author"],
        author_id=said["author_id"],
        trace=said["trace"],
        silence=0,
        journal=notes,
    )
    return taken or Message.objects.get(chat=chat, external_id=external_id)


async def wait_for(message: Message, *, seconds: float) -> str | None:
    """What was answered, by whichever process; None when that takes too long."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                reply = await sync_to_async(inbox.answer_to)(message)
                if reply is not None:
                    return reply
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        return None
