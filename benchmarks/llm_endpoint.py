"""Serve a language-model endpoint. It writes the plan that a message names, or a reply to the turn.

`python -m benchmarks.llm_endpoint PORT FILE [SECONDS]` serves POST /v1/chat/completions, streamed or not, and answers
after SECONDS, or without latency. FILE holds a JSON object: the name of a plan -> its steps. Without steps the endpoint
answers directly. A message says `do PLAN as WORD`.
"""

import asyncio
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

_PIECE = 32
"""Characters in a piece of a stream: several tokens, as busy servers send them."""
_WANTED = re.compile(r"do ([^\"]+) as ([a-z]+)")
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_MODEL = {"model": "no-latency", "created": 0}

Plans = Mapping[str, Sequence[Mapping[str, Any]]]
"""The name of a plan -> its steps."""


def written(body: Mapping[str, Any], plans: Plans) -> str:
    """Return what the model writes for a request: a plan if the request has a schema with steps, else a reply.

    Raises:
        ValueError: the request names no plan.
    """
    said = body["messages"][-1]["content"]
    found = _WANTED.search(said)
    if found is None:
        raise ValueError(f"the last message does not say `do PLAN as WORD`: {said[-300:]}")
    name, word = found.groups()
    reply = f"Here is what came out of it, {word}."
    if "steps" not in _fields(body):
        return reply
    steps = plans[name]
    plan = {"thought": "", "action": None, "reply": None if steps else reply, "steps": steps}
    return orjson.dumps(plan).decode()


class Endpoint(asyncio.Protocol):
    """A connection of the endpoint."""

    def __init__(self, plans: Plans, takes_s: float = 0.0) -> None:
        self._plans, self._takes_s = plans, takes_s
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that has arrived completely."""
        self._buffer += data
        while _HEAD_END in self._buffer:
            head, _, rest = self._buffer.partition(_HEAD_END)
            length = int(found[1]) if (found := _LENGTH.search(head)) else 0
            if len(rest) < length:
                return
            self._buffer = rest[length:]
            self._write(self._answer(rest[:length]) if head.startswith(b"POST") else _whole(_NO_MODELS))

    def _write(self, answer: bytes) -> None:
        if self._takes_s:
            asyncio.get_running_loop().call_later(self._takes_s, self._transport.write, answer)
        else:
            self._transport.write(answer)

    def _answer(self, request: bytes) -> bytes:
        body = orjson.loads(request)
        text = written(body, self._plans)
        usage = {"prompt_tokens": len(request) // 4, "completion_tokens": len(text) // 4}
        if body.get("stream"):
            return _STREAM_HEAD + _pieces(text) + _event({"choices": [], "usage": usage}) + _STREAM_END
        message = {"role": "assistant", "content": text}
        return _whole(_MODEL | {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})


async def serve(port: int, plans: Plans, takes_s: float = 0.0) -> None:
    """Serve until the process is ended."""
    server = await asyncio.get_running_loop().create_server(lambda: Endpoint(plans, takes_s), "127.0.0.1", port)
    await server.serve_forever()


def _fields(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of the JSON schema that the answer must fit."""
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    fields: Mapping[str, Any] = schema.get("properties", {})
    return fields


@lru_cache
def _pieces(text: str) -> bytes:
    return b"".join(_event({"choices": [choice]}) for choice in _choices(text))


def _choices(text: str) -> Iterator[dict[str, object]]:
    for start in range(0, len(text), _PIECE):
        yield {"index": 0, "delta": {"content": text[start : start + _PIECE]}, "finish_reason": None}
    yield {"index": 0, "delta": {}, "finish_reason": "stop"}


def _event(data: dict[str, object]) -> bytes:
    return _chunk(b"data: %s\n\n" % orjson.dumps(_MODEL | data))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _whole(data: dict[str, object]) -> bytes:
    body = orjson.dumps(data)
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


_NO_MODELS: dict[str, object] = {"object": "list", "data": []}
_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_STREAM_END = _chunk(b"data: [DONE]\n\n") + _chunk(b"")


if __name__ == "__main__":
    takes_s = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    asyncio.run(serve(int(sys.argv[1]), orjson.loads(Path(sys.argv[2]).read_bytes()), takes_s))
