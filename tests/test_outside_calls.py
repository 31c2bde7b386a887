"""URLs that somebody else names are called through `tools.http.addresses` only."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.test_limits import PACKAGES, ROOT

CLIENTS = (
    *("aiohttp", "caldav", "ftplib", "http.client", "httpcore2", "httpx2", "imaplib", "mcp", "niquests"),
    *("openai", "poplib", "requests", "smtplib", "socket", "socketserver", "ssl", "telnetlib", "trafilatura.downloads"),
    *("urllib.request", "urllib3", "websockets", "xmlrpc"),
)
"""The modules that can open a connection. Postgres and Redis, which the settings name, are left out."""

HARMLESS = ("socket.gethostname",)

CHECKED = {
    "tools/http/addresses.py": "resolves names, and says which addresses may be called",
    "tools/http/checked_client.py": "connects to these",
    "tools/http/checked_session.py": "sends by `turnloom.tools.http.upstream`, as named by others",
    "tools/http/cut_off.py": "ends connections, and opens none",
    "tools/packs/meetings/dav.py": "has its library send by `turnloom.tools.http.checked_session`",
    "web/gunicorn_worker.py": "takes connections, and opens none",
    "tools/http/upstream.py": "sends what others name by `tools.http.checked_client`, the rest to configured services",
}
NAMED_BY_THE_OPERATOR = {
    "planner/llm/": "the endpoint of OPENAI_BASE_URL",
    "tools/mcp/client/": "servers of the file that TURNLOOM_MCP_SERVERS names",
    "client/": "the API that its user names",
    "workers/cli/mcp_server.py": "calls nobody: it is the server",
    "workers/embedded/": "the stack's own processes",
    "workers/simulator/": "the API that the person at the terminal names",
}


def test_nothing_else_can_call_out() -> None:
    """A module that could call a URL checks it, or calls URLs that a setting names."""
    known = (*CHECKED, *NAMED_BY_THE_OPERATOR)
    strays = [
        f"{path.relative_to(ROOT)} imports {name}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in _imported(path)
        if _is_client(name) and not str(path.relative_to(ROOT)).startswith(known)
    ]

    assert strays == []


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)


def _is_client(name: str) -> bool:
    return name not in HARMLESS and any(name == client or name.startswith(f"{client}.") for client in CLIENTS)
