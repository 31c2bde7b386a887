"""Give each request an id. Its answer, its problem document and its log lines carry it."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from apiflask import APIFlask
from flask import has_request_context, request
from structlog.contextvars import bind_contextvars, reset_contextvars

from turnloom.models.runtime.ids import new_id

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HEADER = "X-Request-Id"
_GIVEN = "HTTP_X_REQUEST_ID"
_OURS = "turnloom.request_id"
_FIT = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def install(app: APIFlask) -> None:
    """Make an application read, make and tell ids of requests."""
    app.wsgi_app = _WithIds(app.wsgi_app)  # type: ignore[method-assign]


def request_id() -> str:
    """Return the id of this request. What is written after the request's end, such as a stream, gets one of its own."""
    given = request.environ.get(_OURS) if has_request_context() else None
    return str(given or new_id().hex)


class _WithIds:
    """The application, below Flask: its own hooks would cost each request a tenth of a millisecond."""

    def __init__(self, app: "WSGIApplication") -> None:
        self._app = app

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        given = environ.get(_GIVEN, "")
        environ[_OURS] = named = given if _FIT.fullmatch(given) else new_id().hex

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            return start_response(status, [*headers, (HEADER, named)], *error)

        logged = bind_contextvars(request_id=named)
        try:
            return self._app(environ, start)
        finally:
            reset_contextvars(**logged)
