"""Serve the HTTP API of a peer: it records a message before it accepts it, and streams the events of its turn.

It has `POST /v1/turns` and `GET /v1/turns/ID/events`, as far as a benchmark needs them, on bare asyncio: a framework
would only make the peer slower. A turn's stream can be read once. This uses only the standard library.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Protocol
from uuid import uuid4

Tell = Callable[[str, object], None]
"""A function that sends an event, its kind and its data, to the readers of a turn."""

_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Engine(Protocol):
    """The system behind the API, which runs the turns."""

    async def accept(self, turn_id: str, message: str) -> None:
        """Record a message."""

    async def run(self, turn_id: str, message: str, tell: Tell) -> str:
        """Run the message's turn, and return the reply when it is recorded."""


class _Api:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._events: dict[str, asyncio.Queue[bytes | None]] = {}
        """The unread events of each turn; None marks their end."""
        self._running: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a connection's requests one after the other."""
        try:
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *fields = head.split("\r\n")
        method, path, _ = first.split(" ")
        named = dict(field.lower().split(": ", 1) for field in fields if field)
        body = await reader.readexactly(int(named.get("content-length", 0)))
        if method == "POST":
            writer.write(await self._accept(json.loads(body)["message"]))
        else:
            await self._follow(path.split("/")[3], writer)

    async def _accept(self, message: str) -> bytes:
        turn_id = str(uuid4())
        await self._engine.accept(turn_id, message)
        self._events[turn_id] = asyncio.Queue()
        task = asyncio.create_task(self._run(turn_id, message))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        body = json.dumps({"turn_id": turn_id, "links": {"self": f"/v1/turns/{turn_id}"}}).encode()
        return b"HTTP/1.1 202 Accepted\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    async def _run(self, turn_id: str, message: str) -> None:
        events = self._events[turn_id]

        def tell(kind: str, data: object) -> None:
            event = f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
            events.put_nowait(b"%x\r\n%s\r\n" % (len(event), event))

        try:
            tell("reply.done", {"text": await self._engine.run(turn_id, message, tell)})
            tell("turn.succeeded", {})
        except Exception as error:  # noqa: BLE001 - the client gets every error
            tell("turn.failed", {"error": repr(error)})
        events.put_nowait(None)

    async def _follow(self, turn_id: str, writer: asyncio.StreamWriter) -> None:
        events = self._events[turn_id]
        writer.write(_STREAM_HEAD)
        while event := await events.get():
            writer.write(event)
        writer.write(b"0\r\n\r\n")
        del self._events[turn_id]


async def serve(port: int, engine: Engine) -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_server(_Api(engine).serve, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()
