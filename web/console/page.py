"""Serve the console's page at /, and the files that it loads.

`dist/` is made from `source/` by `make page`. The name of a file in `dist/assets/` changes with its content, so
browsers keep it for good.
"""

import gzip
import mimetypes
from functools import lru_cache
from pathlib import Path

from apiflask import APIBlueprint
from flask import Response, request
from werkzeug.exceptions import NotFound

_DIST = Path(__file__).parent / "dist"
_ASSETS = _DIST / "assets"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_FOR_GOOD = "public, max-age=31536000, immutable"

blueprint = APIBlueprint("console", __name__, enable_openapi=False)


@blueprint.get("/")
def page() -> Response:
    """Show the console."""
    answer = _sent(_DIST / "index.html", "no-cache")
    answer.headers["Content-Security-Policy"] = _POLICY
    return answer


@blueprint.get("/console/assets/<name>")
def asset(name: str) -> Response:
    """Send a file that the page loads."""
    if name not in _names():
        raise NotFound
    return _sent(_ASSETS / name, _FOR_GOOD)


def _sent(path: Path, cache_control: str) -> Response:
    is_packed = request.accept_encodings.quality("gzip") > 0
    answer = Response(_content(path, is_packed), content_type=_content_type(path))
    if is_packed:
        answer.headers["Content-Encoding"] = "gzip"
    answer.headers["Cache-Control"] = cache_control
    answer.vary.add("Accept-Encoding")
    answer.add_etag()
    answer.make_conditional(request)
    return answer


@lru_cache
def _names() -> frozenset[str]:
    return frozenset(path.name for path in _ASSETS.iterdir())


@lru_cache
def _content(path: Path, is_packed: bool) -> bytes:
    content = path.read_bytes()
    return gzip.compress(content, mtime=0) if is_packed else content


def _content_type(path: Path) -> str:
    kind, _ = mimetypes.guess_type(path.name)
    assert kind is not None
    return f"{kind}; charset=utf-8"
