"""Ask the language model for the peers, over persistent bare connections. A request costs a tenth of a millisecond.

This uses only the standard library.
"""

import asyncio
import json
import os
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from benchmarks.waves import Needs

_SCHEMA = {"properties": {"reply": {"type": ["string", "null"]}, "steps": {"type": "array"}}}
_PLAN = {"response_format": {"type": "json_schema", "json_schema": {"name": "plan", "schema": _SCHEMA}}}
_PATH = "/v1/chat/completions"


class Asking:
    """A client for coroutines, with one connection for each request under way."""

    def __init__(self) -> None:
        self._address = _address()
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def plan(self, message: str) -> dict[str, Any]:
        """Return the plan for a message."""
        plan: dict[str, Any] = json.loads(await self._ask(_request(message, wants_plan=True)))
        return plan

    async def reply(self, message: str, results: object) -> str:
        """Return the reply to a message."""
        return await self._ask(_request(f"{json.dumps(results)}\n{message}", wants_plan=False))

    async def _ask(self, body: bytes) -> str:
        reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection(*self._address)
        writer.write(b"POST %s HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (_PATH.encode(), len(body), body))
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        answer = await reader.readexactly(length)
        self._idle.append((reader, writer))
        return _content(answer)


class BlockingAsking:
    """A client for one thread."""

    def __init__(self) -> None:
        self._connection = HTTPConnection(*_address())

    def plan(self, message: str) -> dict[str, Any]:
        """Return the plan for a message."""
        plan: dict[str, Any] = json.loads(self._ask(_request(message, wants_plan=True)))
        return plan

    def reply(self, message: str, results: object) -> str:
        """Return the reply to a message."""
        return self._ask(_request(f"{json.dumps(results)}\n{message}", wants_plan=False))

    def _ask(self, body: bytes) -> str:
        self._connection.request("POST", _PATH, body)
        return _content(self._connection.getresponse().read())


def needs_of(plan: dict[str, Any]) -> Needs:
    """Return each step of a plan with the steps that it needs."""
    return {step["id"]: step["needs"] for step in plan["steps"]}


def _address() -> tuple[str, int]:
    parts = urlsplit(os.environ["LLM_URL"])
    return parts.hostname or "", parts.port or 80


def _request(text: str, *, wants_plan: bool) -> bytes:
    messages = [{"role": "system", "content": "You plan."}, {"role": "user", "content": text}]
    return json.dumps({"model": "no-latency", "messages": messages, **(_PLAN if wants_plan else {})}).encode()


def _content(answer: bytes) -> str:
    content: str = json.loads(answer)["choices"][0]["message"]["content"]
    return content
