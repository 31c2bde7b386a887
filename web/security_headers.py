"""Tell browsers to treat answers as what they are, and to keep them to themselves."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from apiflask import APIFlask

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_ALWAYS = [("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer")]
_POLICY = "Content-Security-Policy"
_OF_PAGES = [
    *_ALWAYS,
    (_POLICY, "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"),
]
_OF_DATA = [*_ALWAYS, (_POLICY, "default-src 'none'; frame-ancestors 'none'")]
_UNKEPT = [*_OF_DATA, ("Cache-Control", "no-store")]


def install(app: APIFlask) -> None:
    """Make an application add these headers to each of its answers."""
    app.wsgi_app = _Guarded(app.wsgi_app)  # type: ignore[method-assign]


class _Guarded:
    """The application, below Flask, as in `web/request_ids.py`."""

    def __init__(self, app: "WSGIApplication") -> None:
        self._app = app

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            return start_response(status, [*headers, *_further(headers)], *error)

        return self._app(environ, start)


def _further(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers that an answer still lacks. A page may have a stricter policy of its own."""
    said = dict(headers)
    if said.get("Content-Type", "").startswith("text/html"):
        return [header for header in _OF_PAGES if header[0] not in said]
    return _OF_DATA if "Cache-Control" in said else _UNKEPT
