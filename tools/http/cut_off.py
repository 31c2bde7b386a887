"""Cut a connection off at a moment.

A client's time-outs bound single reads. A server that sends a byte now and then would never reach them.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_MADE = ("connection.connect_tcp.complete", "connection.start_tls.complete")

UNTIL = "turnloom.until"
"""The extension of a request that says until when it may connect, on this process's monotonic clock."""

Trace = Callable[[str, dict[str, Any]], None]
"""The client's extension `trace`: it is called with the name of what has happened, and its details."""


@contextmanager
def cut_off(until: float) -> Iterator[Trace]:
    """Cut off what is still open of the block's request at `until`, on this process's monotonic clock.

    Yields the request's extension `trace`. The request then fails as if the other side had hung up.
    """
    made: list[Any] = []
    timer = threading.Timer(max(until - time.monotonic(), 0.0), _cut, [made])
    timer.daemon = True
    timer.start()
    try:
        yield lambda event, details: made.append(details["return_value"]) if event in _MADE else None
    finally:
        timer.cancel()


def _cut(made: list[Any]) -> None:
    for stream in made:
        # Closing the socket would not wake the thread that reads from it. TLS sockets have a `shutdown` of their own,
        # which takes away what that thread is using.
        with suppress(OSError):
            socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)
