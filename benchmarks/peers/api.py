"""The HTTP API of a peer: a message is on record before it is accepted, and a stream tells the events of its turn.

`POST /v1/turns` and `GET /v1/turns/ID/events`, as far as a benchmark needs them, on bare asyncio: a framework would
only make the peer slower. The stream of a turn is read once. The standard library only.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Protocol
from uuid import uuid4

Tell = Callable[[str, object], None]
"""Tell the readers of a turn of an event: its kind and its data."""

_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Engine(Protocol):
    """The system behind the API, which runs the turns."""

    async def accept(self, turn_id: str, message: str) -> None:
        """Put a message on record."""

    async def run(self, turn_id: str, message: str, tell: Tell) -> str:
        """Run its turn. Return the reply when that is on record."""


class _Api:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._events: dict[str, asyncio.Queue[bytes | None]] = {}
        """The events of each turn that nobody has read yet; None ends them."""
        self._running: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection, one after the other."""
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
        except Exception as error:  # noqa: BLE001 - the client hears of it, whatever it was
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
