"""Tools that ask a service, and processes that call such a tool together, as workers do.

As a program: `asking TOOL URL PROCESSES CALLS THREADS`. Each process makes the calls, and prints the outcome of each.
"""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

from pydantic import BaseModel

from turnloom.models.contracts.envelope import Envelope
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.ids import new_id
from turnloom.tools.context import ToolContext
from turnloom.tools.guards import Guards
from turnloom.tools.registry import Tool
from turnloom.tools.runner import run

TENANT = UUID("0198c0de-0000-7000-8000-000000000001")


class Question(BaseModel):
    """A question to the service."""

    about: str = "the weather"


class Answer(BaseModel):
    """An answer of the service."""

    said: str


def made(call: Callable[[Question, ToolContext], Answer], **options: Any) -> Tool:
    """Return a tool that calls this function."""
    told: dict[str, Any] = {"name": "test.ask", "effect": "read", "retries": 0, "timeout_s": 5.0}
    return Tool(description="Ask.", input=Question, output=Answer, call=call, **told | options)


def ask(tool: Tool, about: str = "the weather", longest_wait_s: float = 60.0, **changes: Any) -> Envelope:
    """Call a tool as a worker does, in a separate step."""
    return run(tool, {"about": about}, context(**changes), guards=Guards(longest_wait_s))


def context(time_s: float = 5.0, **changes: Any) -> ToolContext:
    """Return the context of a separate step."""
    given: dict[str, Any] = {
        "tenant_id": TENANT,
        "conversation_id": "c1",
        "turn_id": new_id(),
        "step_id": "s1",
        "attempt": 1,
        "idempotency_key": uuid4().hex,
        "deadline": time.monotonic() + time_s,
    }
    return ToolContext(**given | changes)


def processes(tool: str, url: str, calls: int, threads: int) -> list[str]:
    """Let four processes call a tool at once. Return the outcome of each call."""
    command = [sys.executable, "-m", "tests.tools.guards.asking", tool, url, "4", str(calls), str(threads)]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=30, check=True).stdout
    return [line.removeprefix("ended ") for line in printed.splitlines() if line.startswith("ended ")]


def _over_http(url: str) -> Callable[[Question, ToolContext], Answer]:
    def over_http(question: Question, context: ToolContext) -> Answer:
        try:
            with urllib.request.urlopen(url, timeout=context.remaining_s) as answer:
                return Answer(said=answer.read().decode())
        except urllib.error.HTTPError as error:
            raise Unavailable(f"HTTP {error.code}", code="UPSTREAM_5XX") from None

    return over_http


def _call_together(tool: Tool, calls: int, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        for envelope in pool.map(lambda _: ask(tool, time_s=25.0), range(calls)):
            end = envelope.error.code if envelope.error else envelope.data["said"]
            os.write(1, f"\nended {end}\n".encode())  # this may cut a line of the log in two


if __name__ == "__main__":
    TOOLS: dict[str, dict[str, Any]] = {
        "breaker": {"integration": "service", "retries": 2},
        "cache": {"cache_s": 60.0},
        "rate": {"per_tenant": "10/minute"},
    }
    asked = made(_over_http(sys.argv[2]), **TOOLS[sys.argv[1]])
    # Forked before there are threads or connections, so that only one of them pays for the imports.
    children: list[int] = []
    for _ in range(int(sys.argv[3])):
        child = os.fork()
        if child == 0:
            _call_together(asked, int(sys.argv[4]), int(sys.argv[5]))
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
