"""Act as many cheap clients of the API: bare connections in one event loop, each with one request under way."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

_TIMEOUT_S = 60.0
"""Seconds to wait for one answer, or for one piece of a stream."""
_LONGEST_PIECE = 1 << 16
_LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose body has been read as JSON."""

    status: int
    body: Any


class Client:
    """One client of an API, with a persistent connection."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._head = f"Host: {parts.netloc}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        self.told_to_come_again = 0
        """The number of requests that the API refused for a time, for benchmarks that count them."""
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: object) -> Answer:
        """POST a body as JSON."""
        return await self._ask("POST", path, orjson.dumps(body))

    async def get(self, path: str) -> Answer:
        """GET a document."""
        return await self._ask("GET", path, b"")

    async def stream(self, path: str) -> bytes:
        """GET a stream, and return all of it when it has ended."""
        reader, writer = await self._connection_kept()
        writer.write(f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode())
        status, _ = await _head(reader)
        if status != 200:
            raise OSError(f"GET {path} was answered with {status}")
        received = bytearray()
        while not received.endswith(_LAST_CHUNK):
            piece = await _in_time(reader.read(_LONGEST_PIECE))
            if not piece:
                raise EOFError(f"GET {path}: the stream was cut")
            received += piece
        return bytes(received)

    def close(self) -> None:
        """Close the connection. The next request opens another."""
        if self._connection is not None:
            self._connection[1].close()
            self._connection = None

    async def _ask(self, method: str, path: str, body: bytes) -> Answer:
        reader, writer = await self._connection_kept()
        request = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n".encode()
        writer.write(request + body)
        status, length = await _head(reader)
        text = await _in_time(reader.readexactly(length))
        return Answer(status, orjson.loads(text))

    async def _connection_kept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._connection is None:
            self._connection = await asyncio.open_connection(self._host, self._port)
        return self._connection


async def _in_time(reading: Awaitable[bytes]) -> bytes:
    # Before Python 3.12, `wait_for` loses a cancellation that comes together with the answer.
    async with asyncio.timeout(_TIMEOUT_S):
        return await reading


async def _head(reader: asyncio.StreamReader) -> tuple[int, int]:
    """Read the head of an answer, and return its status and the length of its body."""
    head = await _in_time(reader.readuntil(b"\r\n\r\n"))
    first, *fields = head.decode("latin-1").split("\r\n")
    named = dict(field.lower().split(": ", 1) for field in fields if field)
    return int(first.split(" ", 2)[1]), int(named.get("content-length", 0))
