"""The transports to a server: a program's standard input and output, or HTTP.

Over HTTP, no answer is larger than its limit. A request that fails gets an error status as its answer: otherwise the
library would drop the connection, and with it every other call.
"""

import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from turnloom.tools.mcp.client.environment import fill_in
from turnloom.tools.mcp.servers import McpServer

MAX_ANSWER_BYTES = 4_194_304
"""Largest answer over HTTP. It is four times the largest result of a step, because it is JSON inside JSON."""

_PARENT_DEATH = Path(__file__).with_name("parent_death.py")
_CONNECT_S = 5.0
_SILENCE_S = 600.0
"""How long a stream may be silent. A call has a deadline of its own."""


@dataclass
class LastRefusal:
    """The server's last refusal over HTTP, which the library keeps to itself."""

    status: int = 0
    retry_after: str = ""


@asynccontextmanager
async def way_to(server: McpServer, refusal: LastRefusal) -> AsyncGenerator[Any, None]:
    """Open the streams to a server.

    Raises:
        NotFound: the file of servers refers to an environment variable that is not set.
        OSError: the program cannot be started.
    """
    if server.url is None:
        async with stdio_client(_program(server), sys.__stderr__ or sys.stderr) as streams:
            yield streams
        return
    # Ask for no compression: the library would unpack an answer without limit. A packed answer is refused below.
    headers = {"Accept-Encoding": "identity"} | {name: fill_in(text) for name, text in server.headers.items()}
    timeout = httpx2.Timeout(_SILENCE_S, connect=_CONNECT_S)
    transport = _Bounded(httpx2.AsyncHTTPTransport(), refusal)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport) as http,
        streamable_http_client(fill_in(server.url), http_client=http) as streams,
    ):
        yield streams


def _program(server: McpServer) -> StdioServerParameters:
    assert server.command is not None
    command = [fill_in(part) for part in (server.command, *server.args)]
    return StdioServerParameters(
        command=sys.executable,
        args=["-I", "-S", str(_PARENT_DEATH), str(os.getpid()), *command],
        env={name: fill_in(text) for name, text in server.env.items()},
        encoding_error_handler="replace",
    )


class _Bounded(httpx2.AsyncBaseTransport):
    """A transport with bounded answers. A request without a usable answer gets the status 502, or 521 if unsent."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, refusal: LastRefusal) -> None:
        self._inner = inner
        self._refusal = refusal

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            # Nothing was sent. 521 is the status that proxies use for this.
            response = httpx2.Response(521)
        except httpx2.TransportError:
            response = httpx2.Response(502)
        if response.status_code >= 400:
            self._refusal.status = response.status_code
            self._refusal.retry_after = response.headers.get("retry-after", "")
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            return httpx2.Response(502)
        response.encoding = "utf-8"  # JSON is UTF-8, and some of the charsets that a server may name take very long
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Short(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Short(httpx2.AsyncByteStream):
    """A body that fails once it is longer than the limit."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._inner:
                size += len(chunk)
                if size > MAX_ANSWER_BYTES:
                    raise httpx2.StreamError(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
                yield chunk
        except httpx2.TransportError as error:
            # The library handles a StreamError, but not a TransportError.
            raise httpx2.StreamError("the answer broke off") from error

    async def aclose(self) -> None:
        await self._inner.aclose()
