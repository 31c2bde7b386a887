"""The tools of MCP servers that this deployment has imported."""

from pathlib import Path

from turnloom.tools.mcp.lockfile import load_pinned
from turnloom.tools.mcp.servers import load_servers
from turnloom.tools.mcp.tool_import import judge
from turnloom.tools.registry import Tool


def imported(servers: Path) -> list[Tool]:
    """Return the imported tools of a file of servers. The file's present terms apply and may exclude some tools.

    Raises:
        NotFound: the file does not exist.
        Invalid: the file, or the list of imported tools beside it, has a fault.
    """
    pinned = load_pinned(servers)
    judged = (judge(name, server, pinned.get(name, [])) for name, server in load_servers(servers).items())
    return [verdict.tool for verdicts in judged for verdict in verdicts if verdict.tool]
