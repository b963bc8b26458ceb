"""The HTTP client of the providers (no redirects, a deadline, a size limit) and its errors."""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

import httpx2

from memory.llm.request import RETRYABLE_STATUSES, ProviderError, retry_after_seconds

# The longest honest answer is far below this; a runaway server must not fill the memory.
MAX_ANSWER_BYTES = 2 * 1024 * 1024


class TooLarge(httpx2.TransportError):
    """The answer was larger than any honest answer."""


class TooSlow(httpx2.TimeoutException):
    """The answer did not end before the deadline."""


def client(*, timeout: float) -> httpx2.Client:
    """Return a client for one request, with a deadline for the whole answer.

    Per-read timeouts alone would let a slow server hold us for ever.
    """
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
            if size > MAX_ANSWER_BYTES:
                raise TooLarge(f"The answer is larger than {MAX_ANSWER_BYTES} bytes.")
            if time.monotonic() > self.deadline:
                raise TooSlow("The answer did not end in time.")
            yield chunk

    def close(self) -> None:
        self.inner.close()


STATUS_SENTENCES = {
    400: "did not accept the request",
    401: "refused the key",
    403: "refused the key for this model",
    404: "does not know this model",
    413: "found the request too long",
}


@contextmanager
def provider_errors(sdk: ModuleType, name: str) -> Iterator[None]:
    """Turn whatever the SDK raises inside into a ProviderError."""
    try:
        yield
    except ProviderError:
        raise
    except sdk.APIStatusError as error:
        raise _by_status(error, name) from error
    except (sdk.APITimeoutError, httpx2.TimeoutException) as error:
        raise ProviderError(f"{name} did not answer in time.") from error
    except (sdk.APIConnectionError, httpx2.TransportError) as error:
        if _is_too_large(error):
            raise ProviderError(f"{name} sent more than an answer may hold.") from error
        raise ProviderError(f"{name} could not be reached, or hung up.", again=True) from error
    except (sdk.APIError, ValueError, AttributeError, TypeError, LookupError) as error:
        # Malformed JSON and wrong shapes surface as all of these, depending on the depth.
        raise ProviderError(f"{name} answered in a way Keno cannot read.", again=True) from error


def _by_status(error: Exception, name: str) -> ProviderError:
    status = error.status_code
    if status in RETRYABLE_STATUSES:
        return ProviderError(
            f"{name} is busy or broken (status {status}).",
            again=True,
            retry_after=retry_after_seconds(error.response.headers.get("retry-after")),
        )
    sentence = STATUS_SENTENCES.get(status, "did not accept the request")
    return ProviderError(
        f"{name} {sentence} (status {status}).", permanent=True, ours=status in {400, 413, 422}
    )


def _is_too_large(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, TooLarge):
            return True
        error = error.__cause__
    return False
