"""A tool of an MCP server as it is called, and the model of results without a schema."""

from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict

from turnloom.models.contracts.base import Contract
from turnloom.tools.mcp.definitions import Definition
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
