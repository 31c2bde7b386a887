"""A language model of the benchmark's own: a WSGI application, served beside a stack that asks it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2
from werkzeug.serving import WSGIRequestHandler, make_server

from benchmarks.stack import stack

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_TIMEOUT_S = 60.0


class _Quiet(WSGIRequestHandler):
    """A handler that logs no requests."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write nothing."""


@contextmanager
def stack_with_model(model: "WSGIApplication") -> Iterator[httpx2.Client]:
    """Serve the model, run a stack that uses it, and yield a client of that stack's API."""
    with _served(model) as url, stack({"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none"}) as started:
        key = {"Authorization": f"Bearer {started.dev_key}"}
        with httpx2.Client(base_url=started.url, headers=key, timeout=_TIMEOUT_S) as api:
            yield api


@contextmanager
def _served(app: "WSGIApplication") -> Iterator[str]:
    """Serve an application in a thread, and yield its URL."""
    with make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving.join()
