"""Offer our tools as an MCP server, and import the tools of other MCP servers: `turnloom mcp`."""

from pathlib import Path
from typing import Any

import click
import orjson

from turnloom.models.errors import Invalid, NotFound, TurnloomError
from turnloom.models.runtime.settings import settings
from turnloom.tools.command_output import json_option, print_rows
from turnloom.tools.extras import require
from turnloom.tools.mcp.lockfile import load_pinned, path_of, save_pinned
from turnloom.tools.mcp.servers import McpServer, load_servers
from turnloom.tools.mcp.tool_import import Verdict, judge
from turnloom.workers.cli.chat import find_key, find_url

_LISTING_S = 30.0
_COLUMNS = ("server", "tool", "effect", "approval", "verdict")


@click.group(invoke_without_command=True)
@click.option("--http", "port", type=click.IntRange(1, 65535), help="Serve over HTTP on this port of this machine.")
@click.option("--agent", default=None, help="Agent whose tools are offered.  [default: TURNLOOM_DEFAULT_AGENT]")
@click.option("--user", default=None, help="Id of the user that calls act for.")
@click.option("--url", default=None, help="URL of the API.  [default: TURNLOOM_API_URL, or the stack's here]")
@click.option("--key", default=None, help="Key to the API.  [default: TURNLOOM_API_KEY, or the embedded stack's]")
@click.pass_context
def mcp(
    context: click.Context, port: int | None, agent: str | None, user: str | None, url: str | None, key: str | None
) -> None:
    """Offer the tools of a running stack to MCP clients, over standard input and output or over HTTP.

    Each call is a turn. Over HTTP each client sends its own key as `Authorization: Bearer KEY`. The key needs the
    scopes plans:submit, turns:write and turns:read. The commands below import tools of other MCP servers.
    """
    require("mcp", "`turnloom mcp`")
    if context.invoked_subcommand:
        return
    # This import takes 2 s, and the other commands do not need it.
    from turnloom.workers.cli.mcp_server import ServedAgent, serve_http, serve_stdio  # noqa: PLC0415 - heavy, see above

    terms = ServedAgent(find_url(url), agent or settings().default_agent, user)
    if port is None:
        serve_stdio(terms, find_key(key))
    else:
        click.echo(f"MCP server at http://127.0.0.1:{port}/mcp", err=True)
        serve_http(terms, port)


@mcp.command("import")
@click.argument("names", metavar="[SERVER]...", nargs=-1)
@json_option
def import_tools(names: tuple[str, ...], as_json: bool) -> None:
    """Ask servers for their tools and write the list of what may be called: all of TURNLOOM_MCP_SERVERS, or these.

    Until the next import, language models are shown what is in this file, and plans may call it. Read the file, or its
    difference, before you use it. If a server does not answer, its list stays as it is.
    """
    path = _file()
    servers = load_servers(path)
    if unknown := set(names) - servers.keys():
        raise NotFound(f"{path} has no server {', '.join(sorted(unknown))}")
    before = load_pinned(path)
    # The list of a server that the file no longer names is dropped.
    after = {name: list(before[name]) for name in servers if name in before}
    rows: list[dict[str, Any]] = []
    is_whole = True
    for name in names or servers:
        try:
            found = _asked(name, servers[name])
        except TurnloomError as error:
            click.echo(f"{name}: {error}", err=True)
            is_whole = False
            continue
        verdicts = judge(name, servers[name], found)
        after[name] = [raw for raw, verdict in zip(found, verdicts, strict=True) if verdict.tool]
        rows += [
            _row(name, verdict, _change(raw, before.get(name, [])))
            for raw, verdict in zip(found, verdicts, strict=True)
        ]
    save_pinned(path, after)
    print_rows(_COLUMNS, rows, as_json=as_json)
    click.echo(f"written to {path_of(path)}", err=True)
    if not is_whole:
        raise click.exceptions.Exit(1)


@mcp.command("list")
@json_option
def list_imported(as_json: bool) -> None:
    """List the imported tools, and why some of them are not offered."""
    path = _file()
    pinned = load_pinned(path)
    rows = [
        _row(name, verdict, "imported")
        for name, server in load_servers(path).items()
        for verdict in judge(name, server, pinned.get(name, []))
    ]
    print_rows(_COLUMNS, rows, as_json=as_json)


@mcp.command("check")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def check(file: Path, as_json: bool) -> None:
    """Check which tool definitions in a file can be imported. The file holds JSON or JSON lines.

    Definitions may be MCP's, OpenAI's or Anthropic's, or in a dialect that resembles one of these.
    """
    verdicts = judge("file", McpServer(url="http://unasked"), _definitions(file))
    print_rows(_COLUMNS, [_row("", verdict, "fit to import") for verdict in verdicts], as_json=as_json)
    if any(verdict.refused for verdict in verdicts):
        raise click.exceptions.Exit(1)


def _file() -> Path:
    path = settings().mcp_servers
    if path is None:
        raise click.UsageError("set TURNLOOM_MCP_SERVERS to the file that names the servers")
    return path


def _asked(name: str, server: McpServer) -> list[dict[str, Any]]:
    # This import takes 1.5 s, and is not needed when no server is asked.
    from turnloom.tools.mcp.client.tool_list import ask  # noqa: PLC0415 - heavy, see above

    return ask(name, server, _LISTING_S)


def _change(raw: dict[str, Any], before: list[dict[str, Any]]) -> str:
    if raw in before:
        return "as before"
    return "changed" if any(raw.get("name") == one.get("name") for one in before) else "new"


def _row(server: str, verdict: Verdict, change: str) -> dict[str, Any]:
    tool = verdict.tool
    unchecked = f" (not checked here: {', '.join(verdict.left_out)})" if verdict.left_out else ""
    return {
        "server": server,
        "tool": verdict.name,
        "effect": tool.effect if tool else None,
        "approval": "needed" if tool and tool.requires_approval else None,
        "verdict": f"{change}{unchecked}" if tool else f"refused: {verdict.refused}",
    }


def _definitions(file: Path) -> list[Any]:
    text = file.read_bytes()
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return [orjson.loads(line) for line in text.splitlines() if line.strip()]
        except orjson.JSONDecodeError as error:
            raise Invalid(f"{file} is neither JSON nor JSON lines: {error}") from error
    if isinstance(found, dict) and isinstance(found.get("tools"), list):
        found = found["tools"]
    return found if isinstance(found, list) else [found]
