"""Call a tool of a server.

A call that fails before it is sent took no effect and may be tried again. Once sent, it is tried again only if it may
be repeated. Otherwise its outcome is unknown.
"""

import os
from functools import cache
from typing import Any

import mcp_types as types
from pydantic import TypeAdapter

from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.tools.context import ToolContext
from turnloom.tools.mcp.call_target import Target, TextResult
from turnloom.tools.mcp.client import faults
from turnloom.tools.mcp.client.connections import ServerConnection
from turnloom.tools.mcp.client.loop import Loop, loop
from turnloom.tools.mcp.client.results import read_result
from turnloom.tools.mcp.foreign_models import Foreign
from turnloom.tools.mcp.servers import McpServer

_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
_KEY = "turnloom/idempotency-key"


def call_tool(target: Target, args: dict[str, Any], context: ToolContext) -> TextResult | Foreign:
    """Make a call and return its result. The caller checks the result.

    Raises:
        Unavailable: the server is unavailable, and the call took no effect or may be repeated.
        OutcomeUnknown: the answer was lost.
        ToolFailed: UPSTREAM_4XX, the tool failed or the server refuses the call; UNAUTHORIZED; CONFLICT, the tool has
            changed since it was imported; NOT_FOUND, the server no longer has it; UPSTREAM_5XX, the structured result
            is missing.
        TimeoutError: a call that may be repeated got no answer in time.
    """
    call = _Call(target, args, context)
    try:
        found = loop().call(call.make, context.remaining_s)
    except TimeoutError:
        message = f"the MCP server {target.name} did not answer in time"
        if call.is_sent and not target.may_repeat:
            raise faults.lost(message, "TOOL_TIMEOUT") from None
        if not call.is_sent:
            raise Unavailable(message, code="TOOL_TIMEOUT") from None
        raise TimeoutError(message) from None
    return read_result(found, is_structured=target.is_structured)


class _Call:
    """A call under way."""

    def __init__(self, target: Target, args: dict[str, Any], context: ToolContext) -> None:
        self.is_sent = False
        self._target = target
        self._request = types.CallToolRequest(
            params=types.CallToolRequestParams(
                name=target.definition.name, arguments=args, _meta={_KEY: context.idempotency_key}
            )
        )

    async def make(self) -> types.CallToolResult:
        target = self._target
        connection = _connection(loop(), target.name, target.server.model_dump_json())
        held = await connection.hold(is_sure=not target.may_repeat)
        held.require(target.definition)
        held.refusal.status = 0
        self.is_sent = True
        try:
            # Not `call_tool`: it checks results against the server's own schema, whose patterns may hang.
            found = await held.client.session.send_request(self._request, _RESULT)
        except Exception as error:
            if faults.is_broken(error):
                connection.drop(held, error)
            raise faults.failed(target.name, error, held.refusal, may_repeat=target.may_repeat) from error
        if isinstance(found, types.InputRequiredResult):
            raise ToolFailed(f"the MCP server {target.name} asks for input, which we do not give", code="UPSTREAM_4XX")
        return found


@cache
def _connection(_loop: Loop, name: str, server: str) -> ServerConnection:
    """Return the connection to a server in this loop. A connection ends with its loop."""
    return ServerConnection(name, McpServer.model_validate_json(server))


os.register_at_fork(after_in_child=_connection.cache_clear)
