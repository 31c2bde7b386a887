"""Offer our tools as an MCP server, where each call is a turn with a plan of one step.

So a call keeps every promise of a turn: it is recorded and audited, its effect happens once, guards apply, and a call
that needs a person's approval waits for it. Nothing runs here: the server calls the API of a running stack.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import mcp_types as types
import orjson
import uvicorn
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette

from turnloom.models.errors import Unavailable
from turnloom.workers.cli.client import Api

_MOST_CALLS = 200
"""Calls at the same time; each waits in a thread."""
_ENDINGS = frozenset({"approval.requested", "turn.succeeded", "turn.failed", "turn.cancelled", "turn.superseded"})
_STEP = "call"


@dataclass(frozen=True)
class ServedAgent:
    """The API that calls go to, and the agent and the user that they are made for."""

    url: str
    """URL of the API."""
    agent: str
    """The agent whose tools are offered and whose limits apply."""
    user: str | None
    """The user that calls act for."""


def serve_stdio(terms: ServedAgent, key: str) -> None:
    """Serve one client over standard input and output until it disconnects."""

    async def serve() -> None:
        server = make_server(terms, lambda _: key)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def serve_http(terms: ServedAgent, port: int) -> None:
    """Serve clients on this machine over HTTP, each with the key that it sends."""
    uvicorn.run(make_http_app(terms), host="127.0.0.1", port=port, log_level="warning")


def make_http_app(terms: ServedAgent) -> Starlette:
    """Make the ASGI application. It keeps no state between requests, and accepts only this machine's host names."""
    return make_server(terms, _sent_key).streamable_http_app(stateless_http=True)


def make_server(terms: ServedAgent, key_of: Callable[[Any], str]) -> Server[Any]:
    """Make the server. `key_of` finds in a request the key to the API."""
    limiter = anyio.CapacityLimiter(_MOST_CALLS)

    async def list_tools(
        context: ServerRequestContext[Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        listed = partial(_listed, terms, key_of(context.request))
        try:
            return types.ListToolsResult(tools=await anyio.to_thread.run_sync(listed))
        except Unavailable as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        called = partial(_called, terms, key_of(context.request), params.name, params.arguments or {})
        try:
            return await anyio.to_thread.run_sync(called, limiter=limiter, abandon_on_cancel=True)
        except Unavailable as error:
            return _said(str(error), is_error=True)

    return Server("turnloom", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def exported(name: str) -> str:
    """Return the name of a tool for clients: many of them pass names on to APIs that allow no dots."""
    return name.replace(".", "__")


def _sent_key(request: Any) -> str:
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not key:
        raise MCPError(types.INVALID_REQUEST, "send a key to Turnloom's API: `Authorization: Bearer KEY`")
    return str(key)


def _listed(terms: ServedAgent, key: str) -> list[types.Tool]:
    with Api(terms.url, key) as api:
        return [_tool(tool) for tool in _allowed(api, terms)]


def _allowed(api: Api, terms: ServedAgent) -> Iterator[dict[str, Any]]:
    """Yield the tools that the agent may call."""
    names = {name for agent in api.agents() if agent["name"] == terms.agent for name in agent["tools"]}
    return (tool for tool in api.tools() if tool["name"] in names)


def _tool(tool: dict[str, Any]) -> types.Tool:
    reads = tool["effect"] == "read"
    return types.Tool(
        name=exported(tool["name"]),
        description=tool["description"],
        input_schema={"type": "object"} | tool["input_schema"],
        output_schema={"type": "object"} | tool["output_schema"],
        # For a call that does more than read, we know nothing better than what clients assume.
        annotations=types.ToolAnnotations(read_only_hint=reads, destructive_hint=None if reads else True),
    )


def _called(terms: ServedAgent, key: str, name: str, args: dict[str, Any]) -> types.CallToolResult:
    with Api(terms.url, key) as api:
        tool = next((one["name"] for one in _allowed(api, terms) if name in (one["name"], exported(one["name"]))), None)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {name!r}")
        step = {"id": _STEP, "tool": tool, "args": args}
        user = {"user": {"id": terms.user}} if terms.user else {}
        turn = api.post_turn(message=f"Call {tool}", agent=terms.agent, plan={"steps": [step]}, **user)
        for kind, _ in api.events(turn["turn_id"]):
            if kind in _ENDINGS:
                break
        return _result(api.turn(turn["turn_id"]))


def _result(turn: dict[str, Any]) -> types.CallToolResult:
    step = next((each for each in turn["steps"] if each["id"] == _STEP), None)
    match step["status"] if step else None, step or {}:
        case "succeeded", {"result": dict() as data}:
            return _said(orjson.dumps(data).decode(), data)
        case "succeeded", {"result": data}:
            return _said(orjson.dumps(data).decode())
        case "needs_input", {"result": dict() as data}:
            return _said(f"only the user can say this: {orjson.dumps(data.get('needs')).decode()}", is_error=True)
        case "waiting_approval", _:
            where = f"turn {turn['turn_id']}, step {_STEP}"
            return _said(f"the call waits for a person's approval ({where}) and is made then", is_error=True)
        case status, {"error": dict() as error}:
            return _said(f"{error['code']}: {error['message']} ({status})", is_error=True)
    return _said(f"the call was not made: turn {turn['turn_id']} is {turn['status']}", is_error=True)


def _said(text: str, data: dict[str, Any] | None = None, *, is_error: bool = False) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(text=text)]
    return types.CallToolResult(content=content, structured_content=data, is_error=is_error)
