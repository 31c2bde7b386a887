"""Run local servers for tests."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pytest_httpserver import HTTPServer


class LocalServer(HTTPServer):
    """A server that answers each request in a separate thread: `with LocalServer() as server`."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__(host, threaded=True)

    def thread_target(self) -> None:
        """Check often whether to stop. The default of half a second is long if every test stops a server."""
        assert self.server
        self.server.serve_forever(poll_interval=0.01)


@contextmanager
def answering_once(*parts: bytes, pause_s: float = 0) -> Iterator[str]:
    """Answer one request with these bytes, pausing after each part, and hang up. Yield the URL.

    A client may hang up before.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection, suppress(ConnectionError):
                connection.recv(65_536)
                for part in parts:
                    connection.sendall(part)
                    time.sleep(pause_s)  # a slow server; the test itself does not wait

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join(5)
