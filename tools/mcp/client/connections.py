"""Connections: one per server and process. It is made when it is first needed, and made again after a fault."""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskStatus
from mcp import Client

from turnloom.models.errors import Invalid, ToolFailed
from turnloom.models.runtime.logging import log
from turnloom.tools.mcp.client.faults import unreachable
from turnloom.tools.mcp.client.loop import loop
from turnloom.tools.mcp.client.transports import LastRefusal, way_to
from turnloom.tools.mcp.definitions import MOST_TOOLS, Definition, read_definition
from turnloom.tools.mcp.servers import McpServer

# The library logs messages that it cannot read, and these may contain personal data.
logging.getLogger("mcp").setLevel(logging.CRITICAL)

_LIST_HOLDS_S = 300.0
"""How long a change of a server's tools may go unnoticed."""
_PATIENCE_S = 5.0
"""If a server takes longer to list its tools, it may hang, and we connect to it again."""
_MOST_PAGES = 50
_KEPT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


@dataclass
class OpenConnection:
    """An open connection, as far as we know."""

    client: Client
    refusal: LastRefusal
    ended: anyio.Event = field(default_factory=anyio.Event)
    digests: Mapping[str, str] = field(default_factory=dict)
    """Digests of the server's present definitions, by name of the tool."""
    listed_at: float = 0.0

    def require(self, definition: Definition) -> None:
        """Check that the server still describes a tool as it did when the tool was imported.

        Raises:
            ToolFailed: NOT_FOUND, the server no longer has the tool; CONFLICT, it describes the tool differently.
        """
        found = self.digests.get(definition.name)
        if found is None:
            raise ToolFailed("the MCP server no longer has this tool", code="NOT_FOUND")
        if found != definition.digest:
            message = "the MCP server has changed the tool since it was imported; `turnloom mcp import` shows how"
            raise ToolFailed(message, code="CONFLICT")

    async def look(self) -> None:
        """Ask the server for its tools, and remember the digests of their definitions."""
        found = [read_definition(raw) for raw in await list_tools(self.client)]
        self.digests = {definition.name: definition.digest for definition in reversed(found)}
        self.listed_at = monotonic()


class ServerConnection:
    """The connection to one server, if there is one. It lives in the event loop. Only one caller at a time makes it."""

    def __init__(self, name: str, server: McpServer) -> None:
        self._name = name
        self._server = server
        self._turns = anyio.Lock()
        self._held: OpenConnection | None = None

    async def hold(self, *, is_sure: bool) -> OpenConnection:
        """Return the connection, and make it if there is none.

        `is_sure` makes certain that the server answers on the connection just before it is returned.

        Raises:
            Unavailable, ToolFailed: the connection cannot be made.
        """
        async with self._turns:
            held = self._held
            if held is not None and (is_sure or monotonic() - held.listed_at > _LIST_HOLDS_S):
                try:
                    with anyio.fail_after(_PATIENCE_S):
                        await held.look()
                except Exception as error:  # noqa: BLE001 - foreign code: whatever failed, a new connection may work
                    self.drop(held, error)
            if self._held is None:
                self._held = await loop().tasks.start(self._keep)
            return self._held

    def drop(self, held: OpenConnection, error: Exception) -> None:
        """Give up a connection. The calls under way on it fail."""
        log.warning("mcp.dropped", server=self._name, error=type(error).__name__)
        held.ended.set()
        if self._held is held:
            self._held = None

    async def _keep(self, *, task_status: TaskStatus[OpenConnection]) -> None:
        """Open a connection and keep it until it is given up. The same task must open and close it."""
        held = None
        refusal = LastRefusal()
        try:
            async with connected(self._server, refusal) as client:
                held = OpenConnection(client, refusal)
                await held.look()
                task_status.started(held)
                await held.ended.wait()
        except Exception as error:
            if held is None or not held.listed_at:
                raise unreachable(self._name, error, refusal) from error
            self.drop(held, error)


@asynccontextmanager
async def connected(server: McpServer, refusal: LastRefusal) -> AsyncGenerator[Client, None]:
    """Connect to a server. We refuse all requests of the server, such as for input, sampling or lists of roots."""
    info = types.Implementation(name="turnloom", version="1")
    async with Client(way_to(server, refusal), client_info=info, cache=None, input_required_max_rounds=1) as client:
        yield client


async def list_tools(client: Client) -> list[dict[str, Any]]:
    """Return the definitions of a server's tools as it gives them.

    Raises:
        Invalid: the list does not end.
    """
    found: list[dict[str, Any]] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        found += [_plain(tool) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None or len(found) > MOST_TOOLS:
            return found
    raise Invalid(f"the list of tools does not end after {_MOST_PAGES} pages")


def _plain(tool: types.Tool) -> dict[str, Any]:
    data = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: data[key] for key in _KEPT if key in data}
