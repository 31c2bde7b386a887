"""What stands in a plan for a tool of an MCP server: the call, and the shape of a result that has no schema."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from models.contracts.base import Contract
from tools.context import ToolContext
from tools.mcp.definitions import Definition
from tools.mcp.foreign import Foreign
from tools.mcp.servers import Server


class Answer(Contract):
    """The result of a tool whose server declares no schema for it."""

    text: str
    """What it says; pictures, sounds and files are named in brackets."""
    data: Any = None
    """The same as data, where the server gives any, or the text is JSON."""


@dataclass(frozen=True)
class Target:
    """A tool where it is."""

    name: str
    """The server's."""
    server: Server
    definition: Definition
    may_repeat: bool
    """Whether a call whose answer was lost may be made again."""
    is_structured: bool
    """Whether we have a schema of its results."""


def caller(target: Target) -> Callable[[Foreign, ToolContext], Answer | Foreign]:
    """Return what calls a tool."""

    def call(query: Foreign, context: ToolContext) -> Answer | Foreign:
        # 1.5 s and 60 MB: only processes that call a server pay for it.
        from tools.mcp.client.calls import call_tool  # noqa: PLC0415 - heavy, see above

        return call_tool(target, query.root, context)

    return call


def repeatable(_: Foreign, __: ToolContext) -> None:
    """Say of a lost call that it may be made again: it reads, or its repetition changes nothing."""
