"""Calling an address that somebody gave us, without being led into our own network.

The name is looked up once, every address it has is checked, and the connection goes to the very
address that was checked: a name that answers differently the second time changes nothing.
Redirects are not followed.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from urllib.parse import SplitResult, urlsplit

import httpx

TIMEOUT_SECONDS = 10
# Addresses that lead to an IPv4 address inside them.
TUNNEL_NETWORKS = [
    ipaddress.ip_network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16")
]

Resolve = Callable[[str, int], Awaitable[list[str]]]


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
