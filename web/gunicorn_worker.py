"""A gunicorn worker that limits how long a client may take to send a request, and how many connections it may hold.

gunicorn's gevent worker waits for a body for ever, and clients that never finish a request can take all of its places.
This worker measures how long a client keeps it waiting. When places get scarce, it closes the connection that has been
silent for longest. An answer may take any time: neither an event stream nor `?wait` is cut.

gunicorn's main process imports this module, so it imports nothing of ours before the worker runs.
"""

import errno
import resource
import socket
import time
from collections import Counter
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Literal

from gunicorn import util
from gunicorn.workers.ggevent import GeventWorker

_FILES_OF_OURS = 128
"""Open files that are not clients: connections to servers, modules, logs."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_HAS_LENGTH = b"\r\nContent-Length: "
_TOO_MANY = b"HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits for clients. The times say how long a client may keep us waiting."""

    header_s: float
    """For a request's header, and for the first byte on a new connection."""
    body_s: float
    """For a request's body."""
    idle_s: float
    """Between requests, and until the client takes a piece of an answer."""
    per_address: int
    """Connections from one address; 0 means any number."""
    proxies: tuple[IPv4Network | IPv6Network, ...]
    """Addresses that may have any number of connections."""


class ClientConnection:
    """A client's socket, which closes when the client keeps us waiting for too long."""

    def __init__(self, client: socket.socket, limits: ConnectionLimits) -> None:
        self._client = client
        self._limits = limits
        self._phase: Literal["idle", "header", "body", "late"] = "idle"
        self._left_s = limits.header_s
        self._begins_answer = False
        self._has_ended = False
        """Whether the client has said that it sends nothing more."""
        self._head = b""
        """The header of an answer. It is sent together with what follows: one packet, one system call."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def await_request(self) -> None:
        """Allow the client to be silent until its next request."""
        if self._phase != "late":
            self._phase, self._left_s = "idle", self._limits.idle_s

    def await_body(self) -> None:
        """Start the time for the body: the request's header has arrived."""
        self._phase, self._left_s = "body", self._limits.body_s
        self._begins_answer = True

    def recv(self, size: int) -> bytes:
        """Return the bytes received; none if the client has gone or takes too long.

        Raises:
            RequestTimeout: the body takes too long.
        """
        if self._phase == "late":
            return b""
        theirs: float | None = self._client.gettimeout()
        patience_s = max(self._left_s, 0.001)
        began = time.monotonic()
        self._client.settimeout(patience_s if theirs is None else min(patience_s, theirs))
        try:
            data: bytes = self._client.recv(size)
        except TimeoutError:
            if theirs is not None and theirs < patience_s:
                raise
            return self._give_up()
        finally:
            self._client.settimeout(theirs)
        self._left_s -= time.monotonic() - began
        self._has_ended = not data
        if self._phase == "idle" and data:
            self._phase, self._left_s = "header", self._limits.header_s
            if data.startswith(b"GET "):  # before parsing: the headers of a crowd take long, too
                from turnloom.web.read_priority import give_way  # noqa: PLC0415 - the main process imports nothing of ours

                give_way()
        return data

    def sendall(self, data: bytes) -> None:
        """Send the data. The header of an answer, which gunicorn writes first, is held back and sent with what follows.

        That of a stream goes out at once: what follows may take long, or never come.

        Raises:
            ConnectionResetError: the client does not take the data.
        """
        begins_answer, self._begins_answer = self._begins_answer, False
        if begins_answer and _HAS_LENGTH in data:
            self._head = data
            return
        data, self._head = self._head + data, b""
        theirs = self._client.gettimeout()
        self._client.settimeout(self._limits.idle_s)
        try:
            self._client.sendall(data)
        except TimeoutError:
            _count("answer")
            raise ConnectionResetError(errno.ECONNRESET, "the client does not take its answer") from None
        finally:
            self._client.settimeout(theirs)

    def end_answer(self) -> None:
        """Send the header of an answer that has no body."""
        self._begins_answer = False
        if self._head:
            self.sendall(b"")

    def sendfile(self, *args: Any, **kwargs: Any) -> Any:
        """Send the header that was held back, then a file."""
        self.end_answer()
        return self._client.sendfile(*args, **kwargs)

    def close(self) -> None:
        """Close the connection so that the client can read its answer, even if it is still sending.

        A socket that is closed with unread data is reset, and the client may then lose the answer.
        """
        if self._has_ended or self._phase == "late":
            self._client.close()
        else:
            util.close_graceful(self._client)

    def hang_up(self) -> None:
        """Shut the connection down, also while another greenlet waits for its client."""
        with suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)

    def _give_up(self) -> bytes:
        before, self._phase = self._phase, "late"
        if before == "idle":
            return b""
        _count(before)
        if before == "body":
            from werkzeug.exceptions import RequestTimeout  # noqa: PLC0415 - the main process loads none of it

            raise RequestTimeout
        with suppress(OSError):
            self._client.send(_LATE)
        return b""


class Worker(GeventWorker):  # type: ignore[misc]  # gunicorn has no annotations
    """gunicorn's gevent worker, with limits on the time and the connections that clients can take."""

    def run(self) -> None:
        """Serve until gunicorn stops this worker."""
        self._limits = _read_limits()
        self._silent: dict[ClientConnection, None] = {}
        """Connections that we await a request from, the longest wait first."""
        self._held: Counter[str] = Counter()
        places: int = self.cfg.worker_connections
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            places = max(8, min(places, files - _FILES_OF_OURS))
        self.worker_connections = places
        self._crowded_from = places * 7 // 8
        super().run()

    def timeout_ctx(self) -> AbstractContextManager[None]:
        """Set no time limit here: connections have their own."""
        return nullcontext()

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve the requests of a connection."""
        address = _address(addr)
        if self._has_too_many(address):
            _count("address")
            with suppress(OSError):
                client.send(_TOO_MANY)
            client.close()
            return
        if self._held.total() >= self._crowded_from and self._silent:
            _count("crowded")
            oldest = next(iter(self._silent))
            del self._silent[oldest]
            oldest.hang_up()
        connection = ClientConnection(client, self._limits)
        self._held[address] += 1
        self._silent[connection] = None
        try:
            super().handle(listener, connection, addr)
        finally:
            self._silent.pop(connection, None)
            self._held[address] -= 1
            if not self._held[address]:
                del self._held[address]

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> Any:
        """Answer a request whose header has arrived."""
        self._silent.pop(sock, None)
        sock.await_body()
        must_close = req.should_close
        # After a body that cannot be read, nobody knows where the next request begins. The answer says so.
        req.should_close = lambda: req.body.failed or must_close()
        try:
            return super().handle_request(listener_name, req, sock, addr)
        finally:
            del req.should_close
            with suppress(OSError):
                sock.end_answer()
            sock.await_request()
            self._silent[sock] = None

    def _has_too_many(self, address: str) -> bool:
        most = self._limits.per_address
        if not most or self._held[address] < most:
            return False
        host = ip_address(address.partition("/")[0])
        return not any(host in network for network in self._limits.proxies)


def _address(peer: Any) -> str:
    """Return the address to count by: an IPv4 address, or the /64 network of an IPv6 one. A socket file has none."""
    if not isinstance(peer, tuple):
        return "::1"
    host = ip_address(peer[0].partition("%")[0])
    if host.version == 4:
        return str(host)
    if host.ipv4_mapped:
        return str(host.ipv4_mapped)
    return "::1" if host.is_loopback else str(ip_network((host, 64), strict=False))


def _read_limits() -> ConnectionLimits:
    from turnloom.models.runtime.settings import settings  # noqa: PLC0415 - the main process imports nothing of ours

    ours = settings()
    return ConnectionLimits(
        header_s=ours.api_header_timeout_s,
        body_s=ours.api_body_timeout_s,
        idle_s=ours.api_idle_timeout_s,
        per_address=ours.api_connections_per_address,
        proxies=tuple(ip_network(each, strict=False) for each in ours.api_proxies),
    )


def _count(reason: str) -> None:
    from turnloom.models.runtime.counters import counts  # noqa: PLC0415 - the main process imports nothing of ours

    counts().add("turnloom_connections_dropped_total", reason)
