"""Where a request comes from."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def client_ip(request: HttpRequest) -> str | None:
    """The address of the browser; forwarded addresses count only behind our own proxies."""
    chain = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
    hops = settings.KENO_PROXIES
    # Each proxy appends the address it saw: only the last `hops` entries are not the client's word.
    address = chain[-hops] if 0 < hops <= len(chain) else request.META.get("REMOTE_ADDR", "")
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None


def neighbourhood(address: str | None) -> str:
    """What to count tries by: one IPv4 address, or the /64 that one IPv6 household has."""
    if not address:
        return "unknown"
    ip = ipaddress.ip_address(address)
    if ip.version == 6:
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return address
