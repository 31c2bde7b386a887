"""The call function of an MCP server's tool."""

from collections.abc import Callable

from turnloom.tools.context import ToolContext
from turnloom.tools.mcp.call_target import Target, TextResult
from turnloom.tools.mcp.foreign_models import Foreign


def caller(target: Target) -> Callable[[Foreign, ToolContext], TextResult | Foreign]:
    """Return the function that calls a tool."""

    def call(query: Foreign, context: ToolContext) -> TextResult | Foreign:
        # The import takes 1.5 s and 60 MB, and only processes that call a server need it.
        from turnloom.tools.mcp.client.calls import call_tool  # noqa: PLC0415 - heavy, see above

        return call_tool(target, query.root, context)

    return call


def repeatable(_: Foreign, __: ToolContext) -> None:
    """Return None: a lost call may be made again, since it only reads or repeating it changes nothing."""
