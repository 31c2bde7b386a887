"""The call function of an MCP server's tool, and the model of results without a schema."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict

from turnloom.models.contracts.base import Contract
from turnloom.tools.context import ToolContext
from turnloom.tools.mcp.definitions import Definition
from turnloom.tools.mcp.foreign_models import Foreign
from turnloom.tools.mcp.servers import McpServer


class TextResult(Contract):
    """The result of a tool whose server declares no schema for it."""

    model_config = ConfigDict(title="Answer")

    text: str
    """The text of the result. Pictures, sounds and files appear as names in brackets."""
    data: Any = None
    """The same result as data, if the server gives data or the text is JSON."""


@dataclass(frozen=True)
class Target:
    """A tool of a server."""

    name: str
    """Name of the server."""
    server: McpServer
    definition: Definition
    may_repeat: bool
    """Whether a call may be made again after its answer was lost."""
    is_structured: bool
    """Whether the tool has a schema for its results."""


def caller(target: Target) -> Callable[[Foreign, ToolContext], TextResult | Foreign]:
    """Return the function that calls a tool."""

    def call(query: Foreign, context: ToolContext) -> TextResult | Foreign:
        # The import takes 1.5 s and 60 MB, and only processes that call a server need it.
        from turnloom.tools.mcp.client.calls import call_tool  # noqa: PLC0415 - heavy, see above

        return call_tool(target, query.root, context)

    return call


def repeatable(_: Foreign, __: ToolContext) -> None:
    """Return None: a lost call may be made again, since it only reads or repeating it changes nothing."""
