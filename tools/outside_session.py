"""A session for libraries that use niquests: it connects only to checked addresses, as `tools.outside` does.

The library's own transport connects to any address, follows redirects to any other, uses the proxies and the .netrc
of the environment, and calls addresses that a certificate names.
"""

from io import BytesIO
from typing import Any

from niquests import PreparedRequest, Response, Session
from niquests.adapters import BaseAdapter
from niquests.structures import CaseInsensitiveDict

from models.errors import ToolFailed
from tools.upstream import Request, exchange

_MAX_REDIRECTS = 5
_SET_BY_THE_CLIENT = frozenset({"accept-encoding", "connection", "content-length", "host", "user-agent"})


class CheckedSession(Session):
    """A session whose requests fail as `tools.upstream.exchange` does; those that follow a redirect do so as well."""

    def __init__(self, until: float, max_bytes: int) -> None:
        """Make one whose requests end at `until`, on this process's monotonic clock, and take in no more than that."""
        super().__init__()
        self.trust_env = False
        self.max_redirects = _MAX_REDIRECTS
        self._checked = _CheckedAdapter(until, max_bytes)

    def get_adapter(self, url: str) -> BaseAdapter:
        """Return the one adapter there is, whatever the URL: a session brings others, and mounts them again."""
        del url
        return self._checked


class _CheckedAdapter(BaseAdapter):
    def __init__(self, until: float, max_bytes: int) -> None:
        super().__init__()
        self._until = until
        self._max_bytes = max_bytes

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        """Send a request, and read the whole answer."""
        given = {str(name): str(text) for name, text in (request.headers or {}).items()}
        body = request.body.encode() if isinstance(request.body, str) else request.body
        assert body is None or isinstance(body, bytes), "such a library sends texts"
        answer = exchange(
            Request(
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
            raise ToolFailed("the answer is too large", code="UPSTREAM_5XX")
        response = Response()
        response.status_code = answer.status
        response.reason = ""
        response.headers = CaseInsensitiveDict(answer.headers)
        response.encoding = "utf-8"  # not what the server names: some of what Python knows takes for ever
        response.raw = BytesIO(answer.body)
        response.url, response.request = request.url, request
        response.connection = self  # type: ignore[attr-defined]  # by which digest authentication asks once more
        return response

    def close(self) -> None:
        """Leave the client open: it is the process's."""
