"""The HTTP server of channels that other programs call: one request, one JSON answer, by uvicorn.

Everything is bounded: the head, the body (refused by its announced length, before it is read)
and the time. HTTPS is left to a proxy in front of it.
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
# The fields of a message besides its text, with their defaults.
FIELDS = {
    "chat_id": "main",
    "author": "",
    "author_id": "",
    "id": "",
    "trace": "text",
    "callback": "",
}
CALLBACK = "callback"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""

    def json(self) -> object:
        """Parse the body; ValueError when it is not JSON."""
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("too deep") from error


def answer(status: int, body: dict, *, after: int | None = None) -> JSONResponse:
    """Return the answer; `after` says in how many seconds to ask again."""
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
    headers |= {} if after is None else {"retry-after": str(after)}
    return JSONResponse(body, status_code=status, headers=headers)


class Refused(Exception):
    """A request that is not taken, with what is wrong."""

    status = 400


class TooLarge(Refused):
    """A body that is larger than we take."""

    status = 413


class BadSignature(Refused):
    """A request without a valid signature, with what to do."""

    status = 401


class CallbackRefused(Refused):
    """This address cannot be called."""


Handle = Callable[[Request], Awaitable[JSONResponse]]


class _Impatient(H11Protocol):
    """A connection that closes when its request does not arrive in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        others: Any = self.connections
        waiting = [other for other in others if other.client and other.cycle is None]
        if self.client and [o.client[0] for o in waiting].count(self.client[0]) > HALF_OPEN:
            transport.close()
        self.loop.call_later(READ_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        if self.cycle is None:
            self.transport.close()


class _Server(uvicorn.Server):
    """A server that leaves signals to the handlers of the worker."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve(handle: Handle, *, host: str, port: int) -> AsyncIterator[int]:
    """Answer requests until the end of the block; yield the port."""

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


async def _answer(handle: Handle, request: asgi.Request) -> JSONResponse:
    try:
        async with asyncio.timeout(READ_SECONDS):
            body = await _read_body(request)
        headers = {name.lower(): value for name, value in request.headers.items()}
        return await handle(Request(request.method, request.url.path, headers, body))
    except Refused as refused:
        return answer(refused.status, {"error": str(refused)})
    except TimeoutError:
        return answer(408, {"error": "The request took too long to arrive."})
    except DatabaseError as error:
        # Nothing was kept, so the request can be sent again.
        log.error("a request failed", extra={"why": str(error).partition("\n")[0]})
        away = {"error": "The database does not answer. Nothing was kept: send it again."}
        return answer(503, away, after=AWAY_SECONDS)
    except Exception:
        log.exception("a request failed")
        return answer(500, {"error": "Something went wrong here. It was written down."})


async def _read_body(request: asgi.Request) -> bytes:
    """Read the body; refuse it by its announced length, or when it grows too large."""
    # Of two values nobody can say which one counts.
    if any(len(request.headers.getlist(name)) > 1 for name in (TIMESTAMP, SIGNATURE)):
        raise Refused("The headers cannot be read.")
    too_large = TooLarge(f"The body may have {BODY_BYTES} bytes.")
    announced = request.headers.get("content-length", "0")
    if len(announced) > 12 or int(announced) > BODY_BYTES:
        raise too_large
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES:
            raise too_large
    return body


def sign(secret: str, *, body: bytes, at: float, label: bytes = b"") -> dict[str, str]:
    """Return the headers of a signed request; Keno's answers are signed with the label REPLY."""
    stamp = str(int(at))
    return {TIMESTAMP: stamp, SIGNATURE: PREFIX + _digest(secret, stamp, body, label=label)}


def check(
    secret: str, *, headers: dict[str, str], body: bytes, now: float, label: bytes = b""
) -> str:
    """Return the signature when it is valid. It identifies the request."""
    stamp, signature = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
    if not secret:
        raise BadSignature("No secret is configured; nobody may call.")
    if not stamp or not signature:
        raise BadSignature("Sign the request: X-Keno-Timestamp and X-Keno-Signature are needed.")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        raise BadSignature("X-Keno-Timestamp must be the time in whole seconds.")
    expected = PREFIX + _digest(secret, stamp, body, label=label)
    if not hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode()):
        raise BadSignature("The signature does not fit the timestamp and the body.")
    # Only a program that knows the secret learns that the clock is wrong.
    if abs(now - int(stamp)) > WINDOW_SECONDS:
        raise BadSignature("The request is older than five minutes, or a clock is wrong.")
    return signature.removeprefix(PREFIX)


def _digest(secret: str, stamp: str, body: bytes, *, label: bytes = b"") -> str:
    signed = label + stamp.encode() + b"." + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def parse(url: str) -> SplitResult:
    """Return the parts of a URL that may be called; raise CallbackRefused otherwise."""
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
    """Send it and return the status; raise CallbackRefused before anything is connected."""
    parts = parse(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    ip = await _reachable(parts, port, private=private, resolve=resolve)
    target = httpx.URL(url).copy_with(host=ip, port=port)
    # trust_env: a proxy of the environment would look the name up again.
    async with httpx.AsyncClient(
        timeout=TIMEOUT_SECONDS, trust_env=False, follow_redirects=False
    ) as http:
        request = http.build_request(
            "POST",
            target,
            content=body,
            headers={"host": parts.netloc, "content-type": "application/json"} | headers,
            extensions={"sni_hostname": parts.hostname},
        )
        answer = await http.send(request, stream=True)
        await answer.aclose()
        return answer.status_code


async def _reachable(parts: SplitResult, port: int, *, private: bool, resolve: Resolve) -> str:
    """Return the IP address to connect to; raise CallbackRefused when one of them is private."""
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
    """Return the fields of a message, with defaults; raise Refused with a sentence."""
    try:
        body = request.json()
    except ValueError as error:
        raise Refused("The body is no JSON.") from error
    if not isinstance(body, dict):
        raise Refused("The body must be a JSON object.")
    text = body.get("message", body.get("text"))
    if not isinstance(text, str) or not text.strip():
        raise Refused("The message field is missing or no text.")
    fields = {"text": text}
    for name, default in FIELDS.items():
        value = body.get(name, default)
        if not isinstance(value, str | int) or isinstance(value, bool) or len(str(value)) > 2000:
            raise Refused(f"The field {name} must be a short text.")
        fields[name] = str(value)
    if fields["trace"] not in TRACES:
        raise Refused("The field trace is text or voice.")
    if fields["callback"]:
        parse(fields["callback"])
    return fields


def store_message(space: Space, fields: dict, *, signature: str) -> Message:
    """Store the message; the same request, or the same id, again gives the same row."""
    chat = chats.find_or_open(space, channel="http", external_id=fields["chat_id"])
    name = f"id-{fields['id']}" if fields["id"] else f"signed-{signature}"
    external_id = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
    url = fields["callback"]
    message = inbox.receive(
        chat,
        external_id=external_id,
        silence=0,
        journal=[{"outcome": CALLBACK, "url": url}] if url else [],
        **{name: fields[name] for name in ("text", "author", "author_id", "trace")},
    )
    return message or Message.objects.get(chat=chat, external_id=external_id)


async def wait_for(message: Message, *, seconds: float) -> str | None:
    """Return the answer, whichever process gives it; None when that takes too long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while (reply := await sync_to_async(inbox.answer_to)(message)) is None:
                await asyncio.sleep(POLL_SECONDS)
            return reply
    return None
