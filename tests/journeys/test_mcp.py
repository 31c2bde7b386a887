"""On real workers, turns call foreign MCP tools, and foreign MCP clients call our tools."""

import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
import uvicorn
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.facts import wait_for
from tests.journeys.following import finished, post, run
from tests.tools.mcp.serving import Program
from turnloom.workers.cli.mcp_server import ServedAgent, make_http_app


def step(name: str, tool: str, **args: Any) -> dict[str, Any]:
    return {"id": name, "tool": tool, "args": args}


def test_a_plan_refers_to_a_foreign_tools_result(asking: httpx2.Client, mcp: Program) -> None:
    """A foreign tool's arguments may come from our tools, and its result may go to them."""
    turn = run(
        asking,
        [
            step("a", "sim.echo", value="Kyoto"),
            step("b", "mcp.bad.echo", city={"$from": "a.value"}),
            step("c", "sim.echo", value={"$from": "b.data.city"}),
        ],
    )

    assert (turn["status"], turn["steps"][2]["result"]) == ("succeeded", {"value": "Kyoto"})


def test_a_foreign_write_waits_for_a_person_and_happens_once(asking: httpx2.Client, mcp: Program) -> None:
    """Claims of an untrusted server about its own tools change nothing."""
    turn_id = post(asking, plan={"steps": [step("w", "mcp.bad.note", text="once")]}, agent="generic")["turn_id"]
    wait_for(lambda: asking.get(f"/v1/turns/{turn_id}").json()["status"] == "waiting_approval")
    before = [name for name, _, _ in mcp.calls() if name == "note"]

    asking.post(f"/v1/turns/{turn_id}/approvals/w", json={"decision": "approve"})

    turn = finished(asking, turn_id)
    assert (before, turn["steps"][0]["status"]) == ([], "succeeded")
    assert [args for name, args, _ in mcp.calls() if name == "note"] == [{"text": "once"}]


def test_a_foreign_write_whose_server_dies_ends_unknown(asking: httpx2.Client, mcp: Program) -> None:
    """The call is made once, and a person decides."""
    turn_id = post(asking, plan={"steps": [step("w", "mcp.bad.die")]}, agent="generic")["turn_id"]
    wait_for(lambda: asking.get(f"/v1/turns/{turn_id}").json()["status"] == "waiting_approval")

    asking.post(f"/v1/turns/{turn_id}/approvals/w", json={"decision": "approve"})

    turn = finished(asking, turn_id)
    assert (turn["steps"][0]["status"], turn["steps"][0]["error"]["code"]) == ("unknown", "UPSTREAM_5XX")
    assert [name for name, _, _ in mcp.calls() if name == "die"] == ["die"]
    assert turn["reply"]["text"]


def test_the_imported_tools_are_in_the_catalogue(asking: httpx2.Client) -> None:
    """The catalogue shows their effect, their need of approval and their input schema."""
    listed = {tool["name"]: tool for tool in asking.get("/v1/tools").json()["items"]}

    found = listed["mcp.bad.note"]
    assert (found["effect"], found["requires_approval"]) == ("write", True)
    assert found["input_schema"] == {"type": "object", "additionalProperties": True}


@pytest.fixture
def address(asking: httpx2.Client) -> Iterator[str]:
    """Serve our tools over HTTP; return the address."""
    app = make_http_app(ServedAgent(str(asking.base_url), "generic", None))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        wait_for(lambda: running.started)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        running.should_exit = True
        thread.join()


@asynccontextmanager
async def connected(address: str, headers: dict[str, str]) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


def test_the_official_client_calls_our_tools_over_http(asking: httpx2.Client, mcp: Program, address: str) -> None:
    """Each call is a turn. It is recorded and guarded, and a person approves it where that is needed."""
    headers = {"Authorization": asking.headers["Authorization"]}
    calls = {
        "sim__echo": {"value": 7},
        "sim.write": {"value": "w"},
        "sim__fail": {"code": "NOT_FOUND"},
        "sim__approve": {"value": 1},
        "sim__wait": {"ms": "soon"},
        "dates__resolve_hint": {"hint": "some day"},
    }

    async def talk() -> tuple[list[types.Tool], dict[str, types.CallToolResult]]:
        async with connected(address, headers) as client:
            tools = (await client.list_tools()).tools
            return tools, {name: await client.call_tool(name, args) for name, args in calls.items()}

    tools, found = anyio.run(talk)

    hints = {tool.name: tool.annotations.read_only_hint for tool in tools if tool.annotations}
    assert (hints["sim__echo"], hints["sim__write"]) == (True, False)
    assert all(tool.output_schema for tool in tools)
    assert found["sim__echo"].structured_content == {"value": 7}
    assert (found["sim.write"].structured_content or {})["first"] is True
    said = {name: result.content[0].text for name, result in found.items() if result.is_error}  # type: ignore[union-attr]
    assert said.keys() == {"sim__fail", "sim__approve", "sim__wait", "dates__resolve_hint"}
    assert "NOT_FOUND" in said["sim__fail"]
    assert "waits for a person's approval" in said["sim__approve"]
    assert "sim.wait" in said["sim__wait"]
    assert "hint" in said["dates__resolve_hint"]
    latest = asking.get("/v1/conversations").json()["items"][0]["conversation_id"]
    [turn] = asking.get(f"/v1/conversations/{latest}/turns").json()["items"]
    assert (turn["message"], turn["status"]) == ("Call dates.resolve_hint", "succeeded")


@pytest.mark.parametrize(("header", "words"), [(None, "send a key"), ("Bearer wrong", "401")])
def test_a_client_without_a_key_sees_nothing(address: str, header: str | None, words: str) -> None:
    """Over HTTP each client has a key of its own."""

    async def talk() -> None:
        async with connected(address, {"Authorization": header} if header else {}) as client:
            await client.list_tools()

    with pytest.raises((MCPError, ExceptionGroup)) as caught:
        anyio.run(talk)

    assert (
        caught.group_contains(MCPError, match=words)
        if isinstance(caught.value, ExceptionGroup)
        else words in str(caught.value)
    )


def test_the_official_client_starts_our_server_as_a_program(asking: httpx2.Client) -> None:
    """`turnloom mcp` speaks the protocol over its standard output and writes nothing else there."""
    key = asking.headers["Authorization"].removeprefix("Bearer ")
    args = ["-m", "turnloom.workers.cli", "mcp", "--url", str(asking.base_url), "--key", key, "--agent", "generic"]
    program = StdioServerParameters(command=sys.executable, args=args)

    async def talk() -> tuple[int, types.CallToolResult]:
        async with Client(program) as client:
            return len((await client.list_tools()).tools), await client.call_tool("sim__echo", {"value": "over stdio"})

    count, found = anyio.run(talk)

    assert count > 5
    assert found.structured_content == {"value": "over stdio"}
