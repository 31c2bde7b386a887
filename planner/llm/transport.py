"""HTTP/1.1 over kept connections, beneath the SDK's client: h11 parses the protocol, httpx does the rest.

httpx's own transport has a pool with a queue, locks, and hooks around each event. They cost more than the rest of a
call, and a client of one endpoint needs none of them. Proxies and HTTP/2 are left to httpx's transport.

Each call in progress has its own connection, so that no call waits for one. Threads may share a transport, and so may
processes that are forked later. Errors are httpx's.
"""

import os
import select
import socket
import ssl
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

import h11
import httpx2

_LARGEST_HEAD = 100 * 1024
"""Bytes of a status line with its headers, or of the line that begins a chunk."""
_LARGEST_READ = 64 * 1024
_LONGEST_REST_S = 30.0
"""How long a connection is kept unused. Firewalls drop idle connections silently, but later than this."""
_LAST_WORDS_S = 0.02
"""How long we wait for the end of a body after its reader has stopped: `data: [DONE]` is not the last line."""
_PORTS = {"http": 80, "https": 443}

_Origin = tuple[str, str, int]


class KeptConnections(httpx2.BaseTransport):
    """A transport that keeps its connections and reuses them."""

    def __init__(self) -> None:
        self._kept: defaultdict[_Origin, deque[_Connection]] = defaultdict(deque)
        self._process = os.getpid()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer, with its body unread. The read timeout bounds the whole answer, not each read.

        A kept connection may have died while it was idle, which shows only when it is used. If no byte of an answer
        came, the request is sent once more, over a new connection.
        """
        origin = _origin(request.url)
        kept = self._kept_connection(origin)
        if kept is not None:
            with suppress(_Unanswered):
                return self._exchange(origin, kept, request)
        try:
            return self._exchange(origin, self._connect(origin, request), request)
        except _Unanswered as error:
            raise httpx2.RemoteProtocolError("the server closed the connection without an answer") from error

    def close(self) -> None:
        """Close the connections that no call uses."""
        kept, self._kept = self._kept, defaultdict(deque)
        for connection in (each for idle in kept.values() for each in idle):
            connection.close()

    def _exchange(self, origin: _Origin, connection: "_Connection", request: httpx2.Request) -> httpx2.Response:
        try:
            head = connection.ask(request)
        except BaseException:
            connection.close()
            raise
        extensions = {"http_version": b"HTTP/" + head.http_version, "reason_phrase": bytes(head.reason)}
        body = _Body(connection, self._kept[origin])
        return httpx2.Response(head.status_code, headers=head.headers.raw_items(), stream=body, extensions=extensions)

    def _kept_connection(self, origin: _Origin) -> "_Connection | None":
        if os.getpid() != self._process:  # the parent still uses them
            self.close()
            self._process = os.getpid()
        with suppress(IndexError):
            while True:
                connection = self._kept[origin].pop()
                if connection.is_usable():
                    return connection
                connection.close()
        return None

    def _connect(self, origin: _Origin, request: httpx2.Request) -> "_Connection":
        scheme, host, port = origin
        try:
            plain = socket.create_connection((host, port), _timeout_s(request, "connect"))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return _Connection(self._encrypted(plain, host) if scheme == "https" else plain)
        except TimeoutError as error:
            raise httpx2.ConnectTimeout(f"{host} did not take the connection in time") from error
        except OSError as error:
            raise httpx2.ConnectError(str(error)) from error

    def _encrypted(self, plain: socket.socket, host: str) -> socket.socket:
        try:
            return self._trust.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        """Return the trusted authorities, as httpx does: SSL_CERT_FILE, SSL_CERT_DIR, otherwise the system's."""
        return httpx2.create_ssl_context()


class _Unanswered(Exception):
    """The connection ended before a byte of an answer came."""


class _Connection:
    """One connection, and the state of its exchange of messages."""

    def __init__(self, to: socket.socket) -> None:
        self._socket = to
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        self._read_until: float | None = None
        self._rests_since = 0.0

    @property
    def has_rested(self) -> bool:
        """Whether it has been unused for too long to be used again."""
        return time.monotonic() - self._rests_since > _LONGEST_REST_S

    def ask(self, request: httpx2.Request) -> h11.Response:
        """Send a request, and return the head of its answer.

        Raises:
            _Unanswered: the connection has ended.
        """
        self._send(request)
        timeout_s = _timeout_s(request, "read")
        self._read_until = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            first = self._received()
        except httpx2.ReadError as error:
            raise _Unanswered from error
        if not first:
            raise _Unanswered
        self._protocol.receive_data(first)
        while not isinstance(event := self._next_event(), h11.Response):
            if event is h11.NEED_DATA:
                self._protocol.receive_data(self._received())
        return event

    def pieces(self) -> Iterator[bytes]:
        """Yield the body; bytes that arrived together are one piece."""
        arrived: list[bytes] = []
        while (event := self._next_event()) is h11.NEED_DATA or isinstance(event, h11.Data):
            if isinstance(event, h11.Data):
                arrived.append(event.data)
                continue
            if arrived:
                yield b"".join(arrived)
                arrived = []
            self._protocol.receive_data(self._received())
        if arrived:
            yield b"".join(arrived)

    def is_finished(self) -> bool:
        """Return whether the answer has ended, and another request may follow."""
        with suppress(httpx2.TransportError):
            if self._protocol.their_state is h11.SEND_BODY:
                self._read_until = min(self._read_until or float("inf"), time.monotonic() + _LAST_WORDS_S)
                if next(self.pieces(), None) is not None:
                    return False
            return self._protocol.states == _FINISHED and not self._protocol.trailing_data[0]
        return False

    def rest(self) -> None:
        """Prepare the connection for another request."""
        self._protocol.start_next_cycle()
        self._rests_since = time.monotonic()

    def is_usable(self) -> bool:
        """Return whether another request may be sent: the server has sent nothing unasked, such as a close."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not self.has_rested and not poll.poll(0)

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def _send(self, request: httpx2.Request) -> None:
        try:
            events = (
                h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw),
                h11.Data(data=request.read()),
                h11.EndOfMessage(),
            )
            message = b"".join(self._protocol.send(event) for event in events)
        except h11.LocalProtocolError:  # its message may show a header, and so the key
            raise httpx2.LocalProtocolError("the request's headers are not fit for HTTP/1.1") from None
        self._socket.settimeout(_timeout_s(request, "write"))
        try:
            self._socket.sendall(message)
        except TimeoutError as error:
            raise httpx2.WriteTimeout("the server did not take the request in time") from error
        except OSError:
            pass  # a server may answer, and close, before it has read everything

    def _next_event(self) -> Any:
        try:
            return self._protocol.next_event()
        except h11.RemoteProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error

    def _received(self) -> bytes:
        left_s = None if self._read_until is None else max(self._read_until - time.monotonic(), 0.0001)
        self._socket.settimeout(left_s)
        try:
            return self._socket.recv(_LARGEST_READ)
        except TimeoutError as error:
            raise httpx2.ReadTimeout("the server did not answer in time") from error
        except OSError as error:
            raise httpx2.ReadError(str(error)) from error


class _Body(httpx2.SyncByteStream):
    """The body of an answer. When it is closed, its connection is kept if the body has ended, otherwise closed."""

    def __init__(self, connection: _Connection, idle: deque[_Connection]) -> None:
        self._connection = connection
        self._idle: deque[_Connection] | None = idle

    def __iter__(self) -> Iterator[bytes]:
        return self._connection.pieces()

    def close(self) -> None:
        idle, self._idle = self._idle, None
        if idle is None:
            return
        if not self._connection.is_finished():
            self._connection.close()
            return
        self._connection.rest()
        idle.append(self._connection)
        with suppress(IndexError):
            while idle[0].has_rested:
                idle.popleft().close()


_FINISHED = {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}


def _origin(url: httpx2.URL) -> _Origin:
    if url.scheme not in _PORTS:
        raise httpx2.UnsupportedProtocol(f"a URL of a language model begins with http:// or https://, not {url.scheme}")
    return url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]


def _timeout_s(request: httpx2.Request, kind: str) -> float | None:
    timeouts: dict[str, float | None] = request.extensions.get("timeout", {})
    return timeouts.get(kind)
