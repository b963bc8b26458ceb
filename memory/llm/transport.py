"""The HTTP client of the providers: no redirects, a deadline, and a cap on what may come back."""

import ssl
import time
from collections.abc import Iterator
from functools import cache

import httpx2

# The longest honest answer is far below this; a runaway server must not fill the memory.
LARGEST = 2 * 1024 * 1024


class TooLarge(httpx2.TransportError):
    """The answer was larger than any honest answer."""


class TooSlow(httpx2.TimeoutException):
    """The answer did not end before the deadline."""


def client(*, timeout: float) -> httpx2.Client:
    """A client for one request: per-read timeouts alone would let a dripping server hold us."""
    deadline = time.monotonic() + timeout

    def limit(response: httpx2.Response) -> None:
        response.stream = _Limited(response.stream, deadline=deadline)

    return httpx2.Client(
        event_hooks={"response": [limit]},
        timeout=httpx2.Timeout(timeout, connect=min(timeout, 10.0)),
        follow_redirects=False,
        verify=_certificates(),
    )


@cache
def _certificates() -> ssl.SSLContext:
    # Reading the certificates takes longer than the rest of a local request.
    return httpx2.create_ssl_context()


class _Limited(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, *, deadline: float):
        self.inner = inner
        self.deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self.inner:
            size += len(chunk)
            if size > LARGEST:
                raise TooLarge(f"The answer is larger than {LARGEST} bytes.")
            if time.monotonic() > self.deadline:
                raise TooSlow("The answer did not end in time.")
            yield chunk

    def close(self) -> None:
        self.inner.close()
