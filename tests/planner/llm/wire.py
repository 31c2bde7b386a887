"""A server whose answers and faults are scripted byte by byte."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Answer = Callable[[socket.socket, bytes], bool]
"""A function that answers a request on a connection. It returns whether the connection goes on."""

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def sends(*parts: bytes, goes_on: bool = True) -> Answer:
    """Send bytes, each part by itself; then wait for the next request, or close."""

    def answer(connection: socket.socket, _: bytes) -> bool:
        for part in parts:
            connection.sendall(part)
        return goes_on

    return answer


def resets(connection: socket.socket, _: bytes) -> bool:
    """End the connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def echoes(connection: socket.socket, request: bytes) -> bool:
    """Answer with the body of the request."""
    connection.sendall(chunked(request.partition(b"\r\n\r\n")[2]))
    return True


def chunked(*pieces: bytes, **headers: str) -> bytes:
    """Return an answer in chunks."""
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (*pieces, b""))
    return f"HTTP/1.1 200 OK\r\n{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks


class Wire:
    """The behaviour of the server, and the requests that it has received."""

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        self.address = f"{'https' if tls else 'http'}://localhost:{listener.getsockname()[1]}"
        self.answers: list[Answer] = []
        self.otherwise: Answer = sends(OK)
        """The behaviour when the script has ended."""
        self.requests: list[tuple[int, bytes]] = []
        """The number of the connection, and the request's head and body."""
        self.ended: list[int] = []
        """Connections that a client closed."""
        self.released = threading.Event()
        self._listener = listener
        self._tls = tls
        self._connections = 0

    @property
    def connections(self) -> list[int]:
        """The number of each request's connection."""
        return [number for number, _ in self.requests]

    def repeats(self, piece: bytes, *, after: bytes = b"") -> Answer:
        """Send a piece now and then until the test is over."""

        def answer(connection: socket.socket, _: bytes) -> bool:
            connection.sendall(after)
            while not self.released.wait(0.02):
                connection.sendall(piece)
            return False

        return answer

    def serve(self) -> None:
        """Take connections until the listener is closed."""
        with suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                self._connections += 1
                threading.Thread(target=self._converse, args=(plain, self._connections), daemon=True).start()

    def _converse(self, plain: socket.socket, number: int) -> None:
        with plain, suppress(OSError), self._encrypted(plain) as connection:
            while request := _request(connection):
                self.requests.append((number, request))
                answer = self.answers.pop(0) if self.answers else self.otherwise
                if not answer(connection, request):
                    return
            self.ended.append(number)

    def _encrypted(self, plain: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(plain, server_side=True) if self._tls else plain


@contextmanager
def wire(tls: ssl.SSLContext | None = None) -> Iterator[Wire]:
    """Serve on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Wire(listener, tls)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _request(connection: socket.socket) -> bytes:
    """Return the next request; None if there is none."""
    read = b""
    while b"\r\n\r\n" not in read:
        if not (piece := connection.recv(65_536)):
            return b""
        read += piece
    head, _, body = read.partition(b"\r\n\r\n")
    sizes = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while sizes and len(body) < sizes[0]:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body
