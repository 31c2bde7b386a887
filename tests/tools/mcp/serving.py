"""Run MCP servers for tests: the program beside this file, and the tools that it offers."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.facts import whole_lines
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.contracts.plan import Effect
from turnloom.tools.mcp.servers import McpServer, ToolTerms
from turnloom.tools.mcp.tool_import import Verdict, judge
from turnloom.tools.registry import Tool

OPEN: dict[str, Any] = {"type": "object"}
PROGRAM = Path(__file__).with_name("program.py")


class Program:
    """A server with one tool of each given name. Its tools take anything."""

    def __init__(self, folder: Path, *names: str, **terms: Any) -> None:
        self.offered = folder / "offered.json"
        self.log = folder / "calls.log"
        self.log.touch()
        self.offer([{"name": name, "inputSchema": OPEN} for name in names])
        command = [sys.executable, "-I", "-S", str(PROGRAM), str(self.offered), str(self.log)]
        self.server = McpServer(command=command[0], args=command[1:], **terms)

    def offer(self, definitions: list[dict[str, Any]]) -> None:
        """Offer other tools from now on."""
        self.offered.write_text(json.dumps(definitions))

    def definitions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.offered.read_text())
        return found

    def tool(self, name: str, effect: Effect = "read") -> Tool:
        """Return one of its tools, imported with this effect."""
        terms = self.server.model_copy(update={"tools": {"*": ToolTerms(effect=effect)}})
        return next(tool for tool in tools_of(terms, self.definitions()) if tool.name == f"mcp.bad.{name}")

    def calls(self) -> list[list[Any]]:
        """Return the calls that reached it: name, arguments, metadata."""
        return [json.loads(line) for line in whole_lines(self.log)]


def tools_of(server: McpServer, definitions: list[Any]) -> list[Tool]:
    """Return the tools of a server called `bad`."""
    return [verdict.tool for verdict in judge("bad", server, definitions) if verdict.tool]


def only(definition: Any, **terms: Any) -> Verdict:
    """Return the verdict on one definition of a server that is not asked."""
    return judge("far", McpServer(url="http://unasked", **terms), [definition])[0]


def words_of(envelope: Envelope) -> str:
    return envelope.error.message if envelope.error else ""


def code(envelope: Envelope) -> str | None:
    return envelope.error.code if envelope.error else None
