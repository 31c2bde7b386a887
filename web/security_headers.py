"""Tell browsers to treat answers as what they are, and to keep them to themselves."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from apiflask import APIFlask

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_NO_STORE = ("Cache-Control", "no-store")
_ALWAYS = [("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer")]
_POLICY = "Content-Security-Policy"
_OF_PAGES = [
    *_ALWAYS,
    (_POLICY, "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"),
]
_OF_DATA = [*_ALWAYS, (_POLICY, "default-src 'none'; frame-ancestors 'none'")]
_OF_DRAWINGS = [*_ALWAYS, (_POLICY, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")]
_UNKEPT = [*_OF_DATA, _NO_STORE]
_BY_KIND = {"text/html": _OF_PAGES, "image/svg+xml": [*_OF_DRAWINGS, _NO_STORE]}


def install(app: APIFlask) -> None:
    """Make an application add these headers to each of its answers."""
    app.wsgi_app = _Guarded(app.wsgi_app)  # type: ignore[method-assign]


class _Guarded:
    """The application, below Flask, as in `web/request_ids.py`."""

    def __init__(self, app: "WSGIApplication") -> None:
        self._app = app

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            return start_response(status, [*headers, *_further(status, headers)], *error)

        return self._app(environ, start)


def _further(status: str, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers that an answer still lacks. It may have a stricter policy of its own."""
    said = dict(headers)
    return [header for header in _wanted(status, said) if header[0] not in said]


def _wanted(status: str, said: dict[str, str]) -> list[tuple[str, str]]:
    if status.startswith("304"):
        return _ALWAYS  # a browser gives what it has kept the headers of this answer, a policy among them
    kind = said.get("Content-Type", "").partition(";")[0]
    return _BY_KIND.get(kind) or (_OF_DATA if "Cache-Control" in said else _UNKEPT)
