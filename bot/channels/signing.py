"""Signatures of requests: HMAC-SHA256 over the time and the body, good for five minutes. Pure."""

import hashlib
import hmac

TIMESTAMP, SIGNATURE = "x-keno-timestamp", "x-keno-signature"
WINDOW_SECONDS = 300
PREFIX = "sha256="


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
