"""Failures of a language model's endpoint become our errors here."""

import time
from email.utils import parsedate_to_datetime

import httpx2
from openai import APIConnectionError, APIStatusError, APITimeoutError

from turnloom.models.errors import Unavailable

_LONGEST_DETAIL = 1_000


def status_error(response: httpx2.Response) -> APIStatusError:
    """Return the SDK's error for an answer with an error status, with the endpoint's own message."""
    try:
        body = response.json()
    except ValueError:
        body = response.text
    told = body.get("error", body) if isinstance(body, dict) else body
    # FastAPI, and so vLLM and others, gives the fields that it refuses as `detail`.
    words = (told.get("message") or str(told.get("detail", ""))[:_LONGEST_DETAIL]) if isinstance(told, dict) else None
    message = f"HTTP {response.status_code}" + (f": {words}" if words else "")
    return APIStatusError(message, response=response, body=told)


def unavailable(error: Exception) -> Unavailable:
    """Return our error for a failed call, which says whether the failure may pass."""
    match error:
        case APITimeoutError() | httpx2.TimeoutException():
            return Unavailable("the language model did not answer in time", code="llm_timeout", passes=True)
        case APIConnectionError() | httpx2.TransportError():
            return Unavailable("the language model cannot be reached", code="llm_unreachable", passes=True)
        case APIStatusError(status_code=429) if error.code != "insufficient_quota":
            after_s = _retry_after_s(error)
            message = "the language model limits our rate"
            return Unavailable(message, code="llm_rate_limited", retry_after_s=after_s, passes=True)
        case APIStatusError() if error.status_code in (408, 409) or error.status_code >= 500:
            message = f"the language model failed with HTTP {error.status_code}"
            return Unavailable(message, code="llm_failed", retry_after_s=_retry_after_s(error), passes=True)
        case APIStatusError():
            return Unavailable(f"the language model rejects the request: {error.message}", code="llm_rejected")
    message = f"the language model's endpoint does not speak the OpenAI protocol: {error}"
    return Unavailable(message, code="llm_failed", passes=True)


def _retry_after_s(error: APIStatusError) -> float | None:
    """Read Retry-After: seconds, or an HTTP date (RFC 9110, section 10.2.3)."""
    value = error.response.headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
