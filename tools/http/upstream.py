"""Call an outside service over HTTP.

In: a request, and the context of the tool's call.  Out: the answer, or its JSON.
Always: no answer is larger than its limit, no wait goes beyond the deadline, and nothing is sent twice, because
`tools.runner` makes the retries. No cookies are kept, because many tenants share one client. Messages name only the
host of a URL, because the rest may contain personal data.
"""

import os
import time
import zlib
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from turnloom.models.errors import PolicyDenied, ToolFailed, Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.http.cut_off import UNTIL, cut_off

if TYPE_CHECKING:
    import httpx2

MAX_ANSWER_BYTES = 2_097_152
"""Default for the largest answer of a request, unpacked."""

_CONNECT_S = 5.0
_KEPT_ALIVE_S = 30.0
_GZIP = zlib.MAX_WBITS | 16
_JSON = {"Accept": "application/json"}
_NO_URL = "this is not the URL of a web service; it must begin with http:// or https:// and name a host"

Params = Mapping[str, str | int | float]
"""A URL's query."""


class Shape(BaseModel):
    """The part of an answer that we read. Other fields may be present."""

    # Build each shape at its first use: most processes import shapes and never read one.
    model_config = ConfigDict(defer_build=True)


AnyShape = TypeVar("AnyShape", bound=Shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamRequest:
    """A request to send."""

    url: str
    method: str = "GET"
    params: Params | None = None
    """Replaces the URL's own query."""
    headers: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] | None = None
    """The body as the fields of a form. Give either this or `content`."""
    content: bytes | None = None
    max_bytes: int = MAX_ANSWER_BYTES
    is_named_by_others: bool = False
    """Whether a user, a language model or a page named the URL. If so, only addresses that `tools.http.addresses`
    allows are called."""


@dataclass(frozen=True, slots=True)
class UpstreamResponse:
    """The answer to a request."""

    host: str
    status: int
    headers: Mapping[str, str]
    """The headers, with names in lower case."""
    body: bytes
    """The body, unpacked."""

    def json(self) -> Any:
        """Return the body as JSON.

        Raises:
            Unavailable: it is not JSON, such as the error page of a proxy in front of a broken service.
        """
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            raise Unavailable(f"{self.host} answered with something that is not JSON", code="UPSTREAM_5XX") from None

    def shaped(self, shape: type[AnyShape]) -> AnyShape:
        """Return the body as JSON of a shape.

        Raises:
            Unavailable: it is not JSON.
            ToolFailed: UPSTREAM_5XX, it is JSON of another shape, such as after a change of the service.
        """
        try:
            return shape.model_validate(self.json())
        except ValidationError as error:
            places = sorted({".".join(map(str, fault["loc"])) for fault in error.errors()})
            message = f"{self.host} answered with JSON of an unexpected shape, at {', '.join(places[:3])}"
            raise ToolFailed(message, code="UPSTREAM_5XX") from None


class Refused(ToolFailed):
    """The service refuses the request (HTTP 4xx, or a redirect where none is followed). `answer` may say why."""

    def __init__(self, answer: UpstreamResponse) -> None:
        code = "UNAUTHORIZED" if answer.status == 401 else "UPSTREAM_4XX"
        super().__init__(f"{answer.host} refuses the request with HTTP {answer.status}", code=code)
        self.answer = answer


class Unreachable(Unavailable):
    """No connection could be made, so the service knows nothing of the request."""


def get_shape(shape: type[AnyShape], url: str, params: Params, context: ToolContext) -> AnyShape:
    """Get JSON of a shape from a service. Fails as `send` and `UpstreamResponse.shaped` do."""
    return _final(send(UpstreamRequest(url=url, params=params, headers=_JSON), context)).shaped(shape)


def get_json(url: str, params: Params | None, context: ToolContext) -> Any:
    """Get JSON from a service. Fails as `send` does."""
    return _final(send(UpstreamRequest(url=url, params=params, headers=_JSON), context)).json()


def post(request: UpstreamRequest, context: ToolContext) -> UpstreamResponse:
    """Post a request's form or content to a service. Fails as `send` does."""
    return _final(send(replace(request, method="POST"), context))


def send(request: UpstreamRequest, context: ToolContext) -> UpstreamResponse:
    """Send a request once and return its answer, which has a status below 400.

    Redirects are returned, not followed, since only the caller knows where it may send the request.

    Raises:
        Refused: UNAUTHORIZED for 401, UPSTREAM_4XX for any other 4xx except 429.
        Unavailable: RATE_LIMITED for 429; UPSTREAM_5XX for a failure of the service or of the connection. The request
            may have taken effect: send a write only to a service that recognises repeated requests.
        TimeoutError: there was no complete answer before the deadline.
        ToolFailed: VALIDATION_ERROR, the URL is invalid or may not be called; UPSTREAM_5XX, the answer is too large, or
            has a content encoding that was not asked for.
    """
    try:
        answer = exchange(request, context.deadline)
    except PolicyDenied as error:
        raise ToolFailed(str(error), code="VALIDATION_ERROR") from None
    return _accepted(answer, request.max_bytes)


def exchange(request: UpstreamRequest, until: float) -> UpstreamResponse:
    """Send a request once and return its answer, whatever its status. `until` is on this process's monotonic clock.

    An answer that is too large is cut off one byte after `max_bytes`. The caller checks the length.

    Raises:
        PolicyDenied: the URL is invalid or may not be called.
        Unreachable: the service was not reached, and knows nothing of the request.
        Unavailable, TimeoutError, ToolFailed: as `send`, except for the status and the length of the answer.
    """
    import httpx2  # noqa: PLC0415 - takes 0.15 s, and only processes that call out need it

    host = _host(request.url)
    if until <= time.monotonic():
        raise TimeoutError(f"{host} was not called: the deadline had passed")
    try:
        return _exchange(request, host, until)
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
        raise PolicyDenied(_NO_URL) from None
    except (httpx2.ConnectError, httpx2.ConnectTimeout):
        raise Unreachable(f"{host} cannot be reached", code="UPSTREAM_5XX") from None
    except (httpx2.TimeoutException, TimeoutError):
        raise TimeoutError(f"{host} did not answer in time") from None
    except (httpx2.TransportError, zlib.error) as error:
        if time.monotonic() >= until:
            raise TimeoutError(f"{host} did not answer in time") from None
        raise Unavailable(f"{host} broke off the connection: {type(error).__name__}", code="UPSTREAM_5XX") from None


def retry_after_s(answer: UpstreamResponse) -> float | None:
    """Return Retry-After in seconds. The header has seconds or an HTTP date (RFC 9110, section 10.2.3); else None."""
    value = answer.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def user_agent() -> str:
    """Return our User-Agent, with TURNLOOM_CONTACT if it is set, because some providers ask for a contact."""
    contact = settings().contact
    return f"Turnloom ({contact})" if contact else "Turnloom"


def _exchange(request: UpstreamRequest, host: str, until: float) -> UpstreamResponse:
    import httpx2  # noqa: PLC0415 - see `exchange`

    left_s = max(until - time.monotonic(), 0.001)
    cutting = cut_off(until) if request.is_named_by_others else nullcontext()
    with (
        cutting as trace,
        _client_for(request).stream(
            request.method,
            request.url,
            params=request.params,
            headers={"User-Agent": user_agent(), "Accept-Encoding": "gzip"} | dict(request.headers),
            data=request.form,
            content=request.content,
            timeout=httpx2.Timeout(left_s, connect=min(left_s, _CONNECT_S)),
            extensions={"trace": trace, UNTIL: until} if trace else None,
        ) as response,
    ):
        body = _body(response, request.max_bytes, until)
        return UpstreamResponse(host, response.status_code, dict(response.headers), body)


def _body(response: "httpx2.Response", max_bytes: int, until: float) -> bytes:
    """Read and unpack the body up to one byte beyond `max_bytes`: a few packed bytes may unpack to gigabytes."""
    packed = zlib.decompressobj(_GZIP) if _is_packed(response) else None
    body = bytearray()
    # The empty chunk is the end, which is checked too: where a body has no length, a cut connection looks like its end.
    for chunk in chain(response.iter_raw(), [b""]):
        room = max_bytes + 1 - len(body)
        body += packed.decompress(chunk, room) if packed else chunk[:room]
        if len(body) > max_bytes:
            return bytes(body)
        if time.monotonic() >= until:
            raise TimeoutError
    if packed and body and not packed.eof:
        raise zlib.error("the compressed body is incomplete")
    return bytes(body)


def _is_packed(response: "httpx2.Response") -> bool:
    match response.headers.get("content-encoding", "").strip().lower():
        case "identity" | "":
            return False
        case "gzip" | "x-gzip":
            return True
    raise ToolFailed("the answer has a content encoding that nobody asked for", code="UPSTREAM_5XX")


def _accepted(answer: UpstreamResponse, max_bytes: int) -> UpstreamResponse:
    if answer.status == 429:
        message = f"{answer.host} limits our requests (HTTP 429)"
        raise Unavailable(message, code="RATE_LIMITED", retry_after_s=retry_after_s(answer))
    if answer.status >= 500:
        message = f"{answer.host} failed with HTTP {answer.status}"
        raise Unavailable(message, code="UPSTREAM_5XX", retry_after_s=retry_after_s(answer))
    if answer.status >= 400:
        raise Refused(answer)
    if len(answer.body) > max_bytes:
        raise ToolFailed(f"{answer.host} answered with more than {max_bytes} bytes", code="UPSTREAM_5XX")
    return answer


def _final(answer: UpstreamResponse) -> UpstreamResponse:
    if answer.status >= 300:
        raise Refused(answer)
    return answer


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "nobody"
    except ValueError:
        raise PolicyDenied(_NO_URL) from None


def _client_for(request: UpstreamRequest) -> "httpx2.Client":
    if not request.is_named_by_others:
        return _client()
    from turnloom.tools.http.checked_client import client  # noqa: PLC0415 - it imports httpx2, see `exchange`

    return client()


@lru_cache
def _client() -> "httpx2.Client":
    """Return this process's client. Its threads share the connections."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy  # noqa: PLC0415 - loads OpenSSL, as httpx2 does

    import httpx2  # noqa: PLC0415 - see `exchange`

    limits = httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=_KEPT_ALIVE_S)
    return httpx2.Client(limits=limits, cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])))


os.register_at_fork(after_in_child=_client.cache_clear)
