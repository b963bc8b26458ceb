"""Limits on tries of a password: token buckets in the database, by account and address."""

import ipaddress
import secrets
from datetime import datetime

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import salted_hmac

# Tries in an hour.
PER_ACCOUNT = 20
PER_ADDRESS = 100
PROGRAMS_PER_ADDRESS = 20
DEVICE = "keno_device"
DEVICE_SECONDS = 180 * 24 * 60 * 60
HOUR = 60 * 60
# One statement fills the bucket up for the time that has passed and takes one token out,
# so that a hundred tries at once cannot share the last token.
SPEND = """
    INSERT INTO kenoweb_tokenbucket AS bucket (key, tokens, updated_at)
    VALUES (%(key)s, %(capacity)s - 1, %(now)s)
    ON CONFLICT (key) DO UPDATE SET
        tokens = LEAST(%(capacity)s, bucket.tokens + {refill}) - 1,
        updated_at = GREATEST(bucket.updated_at, %(now)s)
    WHERE LEAST(%(capacity)s, bucket.tokens + {refill}) >= 1
    RETURNING tokens
""".format(
    refill="GREATEST(0, EXTRACT(EPOCH FROM %(now)s - bucket.updated_at)) * %(capacity)s / %(hour)s"
)
REFUND = """
    UPDATE kenoweb_tokenbucket SET tokens = LEAST(%(capacity)s, tokens + 1) WHERE key = %(key)s
"""
# An hour fills every bucket, so an older row says no more than no row. Skip rows in use.
FORGET_FULL = """
    DELETE FROM kenoweb_tokenbucket WHERE key IN (
        SELECT key FROM kenoweb_tokenbucket
        WHERE updated_at < %(now)s - interval '1 hour' FOR UPDATE SKIP LOCKED
    )
"""


def client_ip(request: HttpRequest) -> str | None:
    """Return the address of the browser; forwarded ones count only behind our own proxies."""
    chain = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
    hops = settings.KENO_PROXIES
    # Each proxy appends the address it saw: only the last `hops` entries are not the client's word.
    address = chain[-hops] if 0 < hops <= len(chain) else request.META.get("REMOTE_ADDR", "")
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None


def neighbourhood(address: str | None) -> str:
    """Return what to count tries by: an IPv4 address, or the /64 that an IPv6 household has."""
    if not address:
        return "unknown"
    ip = ipaddress.ip_address(address)
    if ip.version == 6:
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return address


class TooManyTries(Exception):
    """Too many tries; `minutes` says how long to wait."""

    def __init__(self, minutes: int):
        self.minutes = minutes
        super().__init__(f"Too many tries. Wait {minutes} minutes.")


def know_device(response: HttpResponse, name: str) -> None:
    """Give this browser, which has just signed in, tries of its own for the next time.

    So nobody keeps a person out of the browser they use by guessing at their account.
    """
    options = {"httponly": True, "samesite": "Lax", "secure": settings.SESSION_COOKIE_SECURE}
    device = f"{_account_key(name)}:{secrets.token_hex(8)}"
    response.set_signed_cookie(DEVICE, device, salt=DEVICE, max_age=DEVICE_SECONDS, **options)


def counted_name(request: HttpRequest, name: str) -> str:
    """Return the name to count tries by: of the account, or of a browser that knows it."""
    options = {"default": "", "salt": DEVICE, "max_age": DEVICE_SECONDS}
    device = request.get_signed_cookie(DEVICE, **options) or ""
    return device if device.partition(":")[0] == _account_key(name) else name


def spend(name: str, ip: str | None, *, now: datetime | None = None) -> int:
    """Take one try for this account name and one for this address; return how many are left."""
    now = now or timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(FORGET_FULL, {"now": now})
    by_address = _take(_key("address", neighbourhood(ip)), PER_ADDRESS, now)
    return min(by_address, _take(_account_key(name), PER_ACCOUNT, now))


def spend_registration(ip: str | None, *, now: datetime | None = None) -> int:
    """Take one registration of a program for this address; return how many are left."""
    now = now or timezone.now()
    return _take(_key("register", neighbourhood(ip)), PROGRAMS_PER_ADDRESS, now)


def refund(name: str, ip: str | None) -> None:
    """Give the tries back after the right password."""
    with connection.cursor() as cursor:
        cursor.execute(REFUND, {"key": _account_key(name), "capacity": PER_ACCOUNT})
        address_key = _key("address", neighbourhood(ip))
        cursor.execute(REFUND, {"key": address_key, "capacity": PER_ADDRESS})


def _take(key: str, capacity: int, now: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(SPEND, {"key": key, "capacity": capacity, "now": now, "hour": HOUR})
        row = cursor.fetchone()
    if row is None:
        raise TooManyTries(minutes=max(1, round(HOUR / capacity / 60)))
    return int(row[0])


def _account_key(name: str) -> str:
    # People type their password into the name field: no name is kept in clear.
    return _key("account", name.casefold())


def _key(kind: str, value: str) -> str:
    return salted_hmac(f"keno.throttle.{kind}", value, algorithm="sha256").hexdigest()
