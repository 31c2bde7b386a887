"""Generate load cheaply: keep-alive connections on bare sockets, each with one request under way.

A connection sends its next request as soon as it has the whole answer to the last one. A request costs about 30 µs, so
one process is enough and takes little of the machine from the servers that it measures.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_TIMEOUT_S = 300.0


@dataclass
class Load:
    """The counts and times of one run of the generator."""

    latencies_s: list[float] = field(default_factory=list)
    """Times of the answers with the expected status."""
    elapsed_s: float = 0.0
    refusals: list[str] = field(default_factory=list)
    """The other answers."""

    @property
    def per_s(self) -> float:
        """Expected answers per second."""
        return len(self.latencies_s) / self.elapsed_s

    def refuse_refusals(self) -> None:
        """Make sure that all answers had the expected status.

        Raises:
            RuntimeError: there were other answers; the error shows one.
        """
        if self.refusals:
            raise RuntimeError(f"{len(self.refusals)} requests were refused, one of them with {self.refusals[0]}")


def drive(
    url: str,
    bodies: Iterable[bytes],
    *,
    connections: int,
    expected: int,
    key: str = "",
    headers: Mapping[str, str] | None = None,
) -> Load:
    """POST every body as JSON, `connections` at a time, with further headers.

    Raises:
        RuntimeError: a connection broke.
    """
    sent = {"Authorization": f"Bearer {key}", **(headers or {})}
    return asyncio.run(_drive(_Requests(url, iter(bodies), expected, sent), connections))


def during(seconds: float, bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bodies until the time is over."""
    end = time.perf_counter() + seconds
    for body in bodies:
        if time.perf_counter() >= end:
            return
        yield body


def paced(per_s: float, bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bodies at an even pace. Whoever takes one too early waits for it, and all connections with it."""
    began = time.perf_counter()
    for number, body in enumerate(bodies):
        time.sleep(max(0.0, began + number / per_s - time.perf_counter()))
        yield body


class _Requests:
    def __init__(self, url: str, bodies: Iterator[bytes], expected: int, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self.address = parts.hostname or "", parts.port or 80
        query = f"?{parts.query}" if parts.query else ""
        sent = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._head = (
            f"POST {parts.path or '/'}{query} HTTP/1.1\r\nHost: {parts.netloc}\r\n{sent}"
            "Content-Type: application/json\r\nContent-Length: "
        ).encode()
        self._bodies = bodies
        self._expected = b"HTTP/1.1 %d " % expected

    def next(self) -> bytes | None:
        body = next(self._bodies, None)
        return None if body is None else b"%s%d\r\n\r\n%s" % (self._head, len(body), body)

    def is_expected(self, answer: bytes) -> bool:
        return answer.startswith(self._expected)


class _Run:
    def __init__(self, requests: _Requests, connections: int) -> None:
        self.requests = requests
        self.load = Load()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._live = connections

    def fail(self, reason: str) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(reason))

    def closed(self) -> None:
        self._live -= 1
        if self._live == 0 and not self.done.done():
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
        request = self._run.requests.next()
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
        if self._run.requests.is_expected(self._buffer):
            self._run.load.latencies_s.append(time.perf_counter() - self._sent_at)
        else:
            self._run.load.refusals.append(self._buffer[:600].decode(errors="replace"))
        self._buffer = b""
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._sent_at:
            self._run.fail(f"the connection broke: {exc or 'closed by the server'}")
        self._run.closed()


async def _drive(requests: _Requests, connections: int) -> Load:
    run = _Run(requests, connections)
    connect = asyncio.get_running_loop().create_connection
    opened = [await connect(lambda: _Connection(run), *requests.address) for _ in range(connections)]
    began = time.perf_counter()
    for _, connection in opened:
        connection.send()
    try:
        await asyncio.wait_for(run.done, _TIMEOUT_S)
    finally:
        run.load.elapsed_s = time.perf_counter() - began
        for transport, _ in opened:
            transport.close()
    return run.load


def _content_length(head: bytes) -> int:
    name = b"content-length:"
    return next((int(line[len(name) :]) for line in head.split(b"\r\n") if line.lower().startswith(name)), 0)
