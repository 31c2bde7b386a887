"""Use servers over HTTP: one written with the library, and one that answers as a test wants."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.facts import wait_for
from tests.tools.mcp.serving import code, tools_of
from turnloom.models.contracts.envelope import Envelope
from turnloom.tools.context import ToolContext
from turnloom.tools.mcp.client.tool_list import ask
from turnloom.tools.mcp.client.transports import MAX_ANSWER_BYTES
from turnloom.tools.mcp.servers import McpServer
from turnloom.tools.runner import run

Answers = Callable[[Request], Response]
Call = Callable[..., Envelope]

ECHO = [{"name": "echo", "inputSchema": {"type": "object"}}]


@pytest.fixture
def adding() -> Iterator[str]:
    """The address of a server that adds."""
    server = MCPServer("adding")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error", ws="none"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        wait_for(lambda: running.started)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        running.should_exit = True
        thread.join()


@pytest.fixture
def answering(httpserver: HTTPServer) -> Callable[[Answers], McpServer]:
    """Make a server that shakes hands, lists `echo` and answers calls as a test wants."""

    def make(answer: Answers, **terms: Any) -> McpServer:
        def respond(request: Request) -> Response:
            message = json.loads(request.data or b"{}")
            match message.get("method"):
                case "initialize":
                    info = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "odd", "version": "1"}}
                    return told(message, {**info, "capabilities": {"tools": {}}})
                case "tools/list":
                    return told(message, {"tools": ECHO})
                case "tools/call":
                    return answer(request)
                case "server/discover":
                    return Response(status=404)
            return Response(status=202)

        httpserver.expect_request("/mcp").respond_with_handler(respond)
        return McpServer(url=httpserver.url_for("/mcp"), **terms)

    return make


@pytest.fixture
def call(make_context: Callable[..., ToolContext]) -> Call:
    """Call `echo` of a server."""

    def call_tool(server: McpServer, definitions: list[Any] = ECHO, **args: Any) -> Envelope:
        [tool] = tools_of(server, definitions)
        return run(tool, args, make_context(time_s=15.0))

    return call_tool


def told(message: dict[str, Any], result: Any) -> Response:
    body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return Response(json.dumps(body), content_type="application/json")


def spoken(request: Request, said: str) -> Response:
    return told(json.loads(request.data), {"content": [{"type": "text", "text": said}]})


def test_a_server_written_with_the_library_is_called(adding: str, call: Call) -> None:
    """Its schemas are used, and its annotations if it is trusted."""
    server = McpServer(url=adding, trusted=True)
    definitions = ask("bad", server, 20)
    [tool] = tools_of(server, definitions)

    found, refused = call(server, definitions, a=1, b=2), call(server, definitions, a="one", b=2)

    assert (tool.effect, tool.requires_approval) == ("read", False)
    assert (found.data, code(refused)) == ({"result": 3}, "BAD_ARGS")


@pytest.mark.parametrize(
    ("status", "headers", "expected", "unsure"),
    [
        (401, {}, "UNAUTHORIZED", False),
        (403, {}, "UNAUTHORIZED", False),
        (429, {"Retry-After": "60"}, "RATE_LIMITED", False),
        (400, {}, "UPSTREAM_4XX", False),
        (302, {"Location": "http://127.0.0.1:1/elsewhere"}, "UPSTREAM_5XX", True),
        (500, {}, "UPSTREAM_5XX", True),
        (200, {"Content-Type": "text/html"}, "UPSTREAM_5XX", True),
    ],
)
def test_http_failures_are_told_in_our_words(
    answering: Callable[..., McpServer], call: Call, status: int, headers: dict[str, str], expected: str, unsure: bool
) -> None:
    """After a refusal nothing has happened; after a failure nobody knows. Redirects are not followed elsewhere."""
    server = answering(lambda _: Response("no", status=status, headers=headers))

    found = call(server)

    assert (code(found), found.unsure) == (expected, unsure)
    assert (found.error and found.error.retry_at is not None) == (status == 429)


@pytest.mark.parametrize(
    "answer",
    [
        lambda request: spoken(request, "x" * (MAX_ANSWER_BYTES + 1)),
        lambda _: Response(b"\x1f\x8b" + b"x" * 100, headers={"Content-Encoding": "gzip"}),
        lambda _: Response(b"{", content_type="application/json"),
        lambda _: Response(b"data: {", content_type="text/event-stream"),
        lambda _: Response(b'{"jsonrpc": "2.0"', content_type="application/json", headers={"Content-Length": "1000"}),
    ],
    ids=["too large", "packed", "no JSON", "a cut stream", "a cut body"],
)
def test_an_invalid_answer_harms_nothing_else(answering: Callable[..., McpServer], call: Call, answer: Answers) -> None:
    """The next call reaches the server."""
    answers = [answer, lambda request: spoken(request, "well")]
    server = answering(lambda request: answers.pop(0)(request))  # noqa: PLW0108 - a new answer each time

    bad, good = call(server), call(server)

    assert (code(bad), bad.unsure) == ("UPSTREAM_5XX", True)
    assert good.data == {"text": "well", "data": None}


def test_headers_take_secrets_from_the_environment(
    answering: Callable[..., McpServer], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file holds no secret."""
    monkeypatch.setenv("MCP_TEST_TOKEN", "s3cret")
    server = answering(
        lambda request: spoken(request, request.headers["Authorization"]),
        headers={"Authorization": "Bearer ${MCP_TEST_TOKEN}"},
    )

    assert call(server).data == {"text": "Bearer s3cret", "data": None}


def test_a_server_that_is_not_there_is_out(call: Call) -> None:
    """Nothing was sent, so even a write may be tried again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = McpServer(url=f"http://127.0.0.1:{free.getsockname()[1]}/mcp")

    found = call(server)

    assert (code(found), found.unsure) == ("UPSTREAM_5XX", False)
