"""Clients that hold connections open and never send a request keep nobody out."""

import resource
import socket
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import httpx2
import pytest

from turnloom.workers.embedded.stack import Stack

HALF_OPEN = 4_100
"""The number of such connections: more than a web process has places for."""


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2 * HALF_OPEN,
    reason="this machine does not allow enough open files",
)
def test_half_open_connections_keep_nobody_out(stack: Stack, api: httpx2.Client) -> None:
    """A message is accepted on a new connection while clients without a key hold all places."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    at = urlsplit(stack.url)
    try:
        with ExitStack() as flood:
            for _ in range(HALF_OPEN):
                client = flood.enter_context(socket.create_connection((at.hostname, at.port), timeout=20))
                with suppress(OSError):
                    client.sendall(b"POST /v1/turns HTTP/1.1\r\nHost:")

            accepted = [api.post("/v1/turns", json={"message": "hello"}).status_code for _ in range(3)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert accepted == [202, 202, 202]
