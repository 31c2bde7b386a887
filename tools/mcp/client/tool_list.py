"""Ask a server for its tools, for an operator's import."""

from functools import partial
from typing import Any

from turnloom.models.errors import Unavailable
from turnloom.tools.mcp.client.connections import connected, list_tools
from turnloom.tools.mcp.client.faults import unreachable
from turnloom.tools.mcp.client.loop import loop
from turnloom.tools.mcp.client.transports import LastRefusal
from turnloom.tools.mcp.servers import McpServer


def ask(name: str, server: McpServer, timeout_s: float) -> list[dict[str, Any]]:
    """Return the definitions of a server's tools as it gives them now.

    Raises:
        Unavailable: the server does not answer in time.
        ToolFailed: the server does not accept our credentials, or refuses the request.
        Invalid: the list of tools does not end.
    """
    try:
        return loop().call(partial(_asked, name, server), timeout_s)
    except TimeoutError:
        raise Unavailable(f"the MCP server {name} did not list its tools within {timeout_s:g} s") from None


async def _asked(name: str, server: McpServer) -> list[dict[str, Any]]:
    refusal = LastRefusal()
    try:
        async with connected(server, refusal) as client:
            return await list_tools(client)
    except Exception as error:
        raise unreachable(name, error, refusal) from error
