"""Posts come twice: in a stack with a fault file, a client sometimes posts the same again.

The client has not heard the first answer. It gets the second.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from io import BytesIO
from typing import TYPE_CHECKING

from apiflask import APIFlask

from turnloom.models.runtime.fault_folder import FaultFolder, injected_faults
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def install(app: APIFlask) -> None:
    """Let posts come twice, if a fault file says so."""
    folder = injected_faults()
    if folder is not None and any(each.path for each in folder.file.duplicates):
        app.wsgi_app = _Repeated(app.wsgi_app, folder)  # type: ignore[method-assign]


class _Repeated:
    """The application for clients that post again."""

    def __init__(self, app: "WSGIApplication", folder: FaultFolder) -> None:
        self._app = app
        self._folder = folder

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        length = environ.get("CONTENT_LENGTH") or ""
        if length.isdecimal() and int(length) <= settings().api_max_body_bytes and self._is_struck(environ):
            from werkzeug.test import run_wsgi_app  # noqa: PLC0415 - only a stack with faults needs it

            body = environ["wsgi.input"].read(int(length))
            log.warning("post.repeated", path=environ["PATH_INFO"])
            run_wsgi_app(self._app, environ | {"wsgi.input": BytesIO(body)}, buffered=True)
            environ = environ | {"wsgi.input": BytesIO(body)}
        return self._app(environ, start_response)

    def _is_struck(self, environ: "WSGIEnvironment") -> bool:
        if environ["REQUEST_METHOD"] != "POST":
            return False
        places = [
            (place, each)
            for place, each in enumerate(self._folder.file.duplicates)
            if each.path and fnmatchcase(environ["PATH_INFO"], each.path)
        ]
        # Each of them counts the post, whatever the others say.
        struck = [self._folder.strikes(each, f"duplicates-{place}") for place, each in places]
        return any(struck)
