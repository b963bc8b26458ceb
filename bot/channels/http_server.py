"""A very small HTTP server for what other programs send us: one request, one JSON answer.

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
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

import httpx
from asgiref.sync import sync_to_async
from django.db import DatabaseError

from memory.chats import inbox
from memory.chats import service as chats
from memory.models import Message, OutboxItem, Space

log = logging.getLogger(__name__)
HEAD_BYTES = 16 * 1024
BODY_BYTES = 1024 * 1024
READ_SECONDS = 10
CONNECTIONS = 100
AWAY_SECONDS = 5
TIMESTAMP, SIGNATURE = "x-keno-timestamp", "x-keno-signature"
WINDOW_SECONDS = 300
PREFIX = "sha256="
TIMEOUT_SECONDS = 10
# Addresses that lead to an IPv4 address inside them.
TUNNEL_NETWORKS = [
    ipaddress.ip_network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16")
]
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


class BadSignature(Exception):
    """A request that is not proved to come from who knows the secret, with what to do."""


def sign(secret: str, *, body: bytes, at: float) -> dict[str, str]:
    """The headers of a signed request."""
    stamp = str(int(at))
    return {TIMESTAMP: stamp, SIGNATURE: PREFIX + _digest(secret, stamp, body)}


def check(secret: str, *, headers: dict[str, str], body: bytes, now: float) -> str:
    """The signature, when it is good. It is the same for the same request alone."""
    stamp, given = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
    if not secret:
        raise BadSignature("No secret is configured; nobody may call.")
    if not stamp or not given:
        raise BadSignature("Sign the request: X-Keno-Timestamp and X-Keno-Signature are needed.")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        raise BadSignature("X-Keno-Timestamp must be the time in whole seconds.")
    wanted = PREFIX + _digest(secret, stamp, body)
    if not hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode()):
        raise BadSignature("The signature does not fit the timestamp and the body.")
    # Only who knows the secret learns that the clock is wrong.
    if abs(now - int(stamp)) > WINDOW_SECONDS:
        raise BadSignature("The request is older than five minutes, or a clock is wrong.")
    return given.removeprefix(PREFIX)


def _digest(secret: str, stamp: str, body: bytes) -> str:
    return hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class CallbackRefused(Exception):
    """This address cannot be called."""


def parse(url: str) -> SplitResult:
    """The parts of an address we may call; NotAllowed with a sentence otherwise."""
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
    tunnelled = ip.version == 6 and any(ip in net for net in TUNNEL_NETWORKS)
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
    """Send it; the status that came back. NotAllowed before anything is connected."""
    parts = parse(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        addresses = await resolve(parts.hostname, port)
    except (OSError, UnicodeError) as error:
        raise httpx.ConnectError(f"{parts.hostname} is not found.") from error
    if not addresses or not (private or all(map(is_public, addresses))):
        raise CallbackRefused("The callback leads into a private network.")
    ip = addresses[0].partition("%")[0]
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


class BadRequest(Exception):
    """A request of somebody who may call that cannot be understood, with what is wrong."""


def json_object(request: Request) -> dict:
    """The JSON object of the body."""
    try:
        body = request.json()
    except ValueError as error:
        raise BadRequest("The body is no JSON.") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.")
    return body


def parse_message(request: Request, *, field: str = "message") -> dict:
    """The fields of a message, with defaults; BadRequest with a sentence."""
    body = json_object(request)
    text = body.get(field, body.get("text"))
    if not isinstance(text, str) or not text.strip():
        raise BadRequest(f"The {field} field is missing or no text.")
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
            raise BadRequest(f"The field {name} must be a short text.")
        said[name] = str(value)
    if said["trace"] not in TRACES:
        raise BadRequest("The field trace is text or voice.")
    if said["callback"]:
        try:
            parse(said["callback"])
        except CallbackRefused as error:
            raise BadRequest(str(error)) from error
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
                reply = await sync_to_async(_reply)(message)
                if reply is not None:
                    return reply
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        return None


def _reply(message: Message) -> str | None:
    handled = Message.objects.filter(pk=message.pk).values_list("handled_at", flat=True).first()
    if handled is None:
        return None
    sent = OutboxItem.objects.filter(
        chat=message.chat_id, message__reply_to__gte=message.pk, message__sent_at=handled
    )
    return sent.order_by("pk").values_list("text", flat=True).first() or ""
