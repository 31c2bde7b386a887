"""A session for libraries that use niquests. Like `tools.http.checked_client`, it connects only to checked addresses.

The library's own transport connects to any address, follows redirects to any other, uses the proxies and the .netrc
of the environment, and calls addresses that a certificate names.
"""

from io import BytesIO
from typing import Any

from niquests import PreparedRequest, Response, Session
from niquests.adapters import BaseAdapter
from niquests.structures import CaseInsensitiveDict

from turnloom.models.errors import ToolFailed
from turnloom.tools.http.upstream import UpstreamRequest, exchange

_MAX_REDIRECTS = 5
_SET_BY_THE_CLIENT = frozenset({"accept-encoding", "connection", "content-length", "host", "user-agent"})


class CheckedSession(Session):
    """A session whose requests, redirected ones included, fail as `tools.http.upstream.exchange` does."""

    def __init__(self, until: float, max_bytes: int) -> None:
        """Make a session whose requests end at `until`, on this process's monotonic clock.

        `max_bytes` is the largest answer that a request accepts.
        """
        super().__init__()
        self.trust_env = False
        self.max_redirects = _MAX_REDIRECTS
        self._checked = _CheckedAdapter(until, max_bytes)

    def get_adapter(self, url: str) -> BaseAdapter:
        """Return the checked adapter for every URL. The library mounts adapters of its own, which are never used."""
        del url
        return self._checked


class _CheckedAdapter(BaseAdapter):
    def __init__(self, until: float, max_bytes: int) -> None:
        super().__init__()
        self._until = until
        self._max_bytes = max_bytes

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        """Send a request and read the whole answer."""
        given = {str(name): str(text) for name, text in (request.headers or {}).items()}
        body = request.body.encode() if isinstance(request.body, str) else request.body
        assert body is None or isinstance(body, bytes), "the body must be text or bytes"
        answer = exchange(
            UpstreamRequest(
                url=str(request.url),
                method=str(request.method),
                headers={name: text for name, text in given.items() if name.lower() not in _SET_BY_THE_CLIENT},
                content=body or None,
                max_bytes=self._max_bytes,
                is_named_by_others=True,
            ),
            self._until,
        )
        if len(answer.body) > self._max_bytes:
            raise ToolFailed(f"{answer.host} answered with more than {self._max_bytes} bytes", code="UPSTREAM_5XX")
        response = Response()
        response.status_code = answer.status
        response.reason = ""
        response.headers = CaseInsensitiveDict(answer.headers)
        response.encoding = "utf-8"  # ignore the server's charset: some of Python's codecs take very long
        response.raw = BytesIO(answer.body)
        response.url, response.request = request.url, request
        response.connection = self  # type: ignore[attr-defined]  # digest authentication sends the second request through it
        return response

    def close(self) -> None:
        """Leave the client open: the whole process shares it."""
