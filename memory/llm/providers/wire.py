"""Both SDKs raise the same shapes of errors; here they become one."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import httpx2

from memory.llm.errors import ProviderError
from memory.llm.retries import RETRYABLE, seconds
from memory.llm.transport import TooLarge

WORDS = {
    400: "did not accept the request",
    401: "refused the key",
    403: "refused the key for this model",
    404: "does not know this model",
    413: "found the request too long",
}


@contextmanager
def errors(sdk: ModuleType, name: str) -> Iterator[None]:
    """Whatever the SDK raises inside leaves as a ProviderError."""
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
    if status in RETRYABLE:
        return ProviderError(
            f"{name} is busy or broken (status {status}).",
            again=True,
            retry_after=seconds(error.response.headers.get("retry-after")),
        )
    said = WORDS.get(status, "did not accept the request")
    return ProviderError(
        f"{name} {said} (status {status}).", permanent=True, ours=status in {400, 413, 422}
    )


def _is_too_large(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, TooLarge):
            return True
        error = error.__cause__
    return False
