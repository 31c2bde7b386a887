"""A load generator that costs little: keep-alive connections on bare sockets, each with one request under way.

A connection sends its next request as soon as the answer to the last one is whole. About 30 µs a request, so that
one process is enough and takes little of the machine from the servers that it measures.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_TIMEOUT_S = 300.0


@dataclass
class Load:
    """What a run of the generator saw."""

    latencies_s: list[float] = field(default_factory=list)
    elapsed_s: float = 0.0

    @property
    def per_s(self) -> float:
        """Answers a second."""
        return len(self.latencies_s) / self.elapsed_s


def drive(url: str, bodies: Iterable[bytes], *, connections: int, expected: int, key: str = "") -> Load:
    """POST every body as JSON, `connections` at a time.

    Raises:
        RuntimeError: an answer had another status than expected, or a connection broke.
    """
    return asyncio.run(_drive(_Run(url, iter(bodies), expected, key), connections))


def during(seconds: float, body: bytes) -> Iterator[bytes]:
    """Yield the same body again and again until the time is over."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        yield body


class _Run:
    def __init__(self, url: str, bodies: Iterator[bytes], expected: int, key: str) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        query = f"?{parts.query}" if parts.query else ""
        self._head = (
            f"POST {parts.path or '/'}{query} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {key}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        ).encode()
        self._bodies = bodies
        self._expected = b"HTTP/1.1 %d " % expected
        self.load = Load()
        self.live = 0
        self.done: asyncio.Future[None] = asyncio.Future()

    def next_request(self) -> bytes | None:
        body = next(self._bodies, None)
        return None if body is None else b"%s%d\r\n\r\n%s" % (self._head, len(body), body)

    def check(self, answer: bytes) -> None:
        if not answer.startswith(self._expected):
            self.fail(f"expected {self._expected.decode()}, got {answer[:600].decode(errors='replace')}")

    def fail(self, reason: str) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(reason))

    def closed(self) -> None:
        self.live -= 1
        if self.live == 0 and not self.done.done():
            self.done.set_result(None)


class _Connection(asyncio.Protocol):
    def __init__(self, run: _Run) -> None:
        self._run = run
        self._buffer = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self) -> None:
        request = self._run.next_request()
        if request is None:
            self._sent_at = 0.0
            self._transport.close()
            return
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator or len(body) < _content_length(head):
            return
        self._run.load.latencies_s.append(time.perf_counter() - self._sent_at)
        self._run.check(self._buffer)
        self._buffer = b""
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._sent_at:
            self._run.fail(f"the connection broke: {exc or 'closed by the server'}")
        self._run.closed()


async def _drive(run: _Run, connections: int) -> Load:
    loop = asyncio.get_running_loop()
    opened = [
        (await loop.create_connection(lambda: _Connection(run), run.host, run.port))[1] for _ in range(connections)
    ]
    run.live = len(opened)
    began = time.perf_counter()
    for connection in opened:
        connection.send()
    await asyncio.wait_for(run.done, _TIMEOUT_S)
    run.load.elapsed_s = time.perf_counter() - began
    return run.load


def _content_length(head: bytes) -> int:
    name = b"content-length:"
    return next((int(line[len(name) :]) for line in head.split(b"\r\n") if line.lower().startswith(name)), 0)
