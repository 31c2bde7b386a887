"""Calls in a stack with a fault file go through the real runner, and meet the failures that the file names."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from turnloom.models.contracts.fault_file import FaultFile
from turnloom.models.runtime.fault_folder import injected_faults, make_fault_folder
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool
from turnloom.tools.runner import run

MakeContext = Callable[..., ToolContext]
Inject = Callable[..., None]


class Query(BaseModel):
    number: int = 0


class Found(BaseModel):
    number: int


class Backend:
    """An outside service that writes down what it was asked."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def call(self, query: Query, _: ToolContext) -> Found:
        self.calls.append(query.number)
        return Found(number=query.number)

    def find(self, query: Query, _: ToolContext) -> Found | None:
        return Found(number=query.number) if query.number in self.calls else None

    def tool(self, **options: Any) -> Tool:
        given: dict[str, Any] = {"name": "sample.act", "description": "Act.", "effect": "read"}
        return Tool(input=Query, output=Found, call=self.call, **given | options)


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def inject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Inject]:
    """Let calls of this process go wrong by a file with these faults."""

    def injecting(*faults: dict[str, Any]) -> None:
        path = tmp_path / uuid4().hex
        make_fault_folder(
            path, FaultFile.model_validate({"seed": 7, "faults": [{"tool": "*"} | one for one in faults]})
        )
        monkeypatch.setenv("TURNLOOM_FAULTS", str(path))
        settings.cache_clear()

    yield injecting
    monkeypatch.undo()
    settings.cache_clear()


def code_of(tool: Tool, context: ToolContext, number: int = 0) -> str | None:
    envelope = run(tool, {"number": number}, context)
    return envelope.error.code if envelope.error else None


def test_a_failure_that_may_pass_fails_every_try(backend: Backend, inject: Inject, make_context: MakeContext) -> None:
    """The call is tried again as usual, the service is never reached, and the call fails with the code."""
    inject({"error": {"code": "UPSTREAM_5XX", "message": "down"}})
    retried: list[str] = []

    with capture_logs() as logs:
        envelope = run(backend.tool(retries=2), {}, make_context(), on_retry=lambda _, code, __: retried.append(code))

    assert envelope.error
    assert (envelope.error.code, envelope.error.message) == ("UPSTREAM_5XX", "down")
    assert (retried, backend.calls) == (["UPSTREAM_5XX"] * 2, [])
    assert [line["event"] for line in logs] == ["faults.injected", "call.struck"]


def test_a_refusal_is_final(backend: Backend, inject: Inject, make_context: MakeContext) -> None:
    """Of a write that was refused, everybody knows that it took no effect."""
    inject({"error": {"code": "CONFLICT"}})

    envelope = run(backend.tool(effect="write"), {}, make_context())

    assert envelope.error
    assert (envelope.error.code, envelope.unsure, backend.calls) == ("CONFLICT", False, [])


def test_a_malformed_result_of_a_read_fails(backend: Backend, inject: Inject, make_context: MakeContext) -> None:
    """The service is really called, and what it returned is refused."""
    inject({"malformed": True})

    assert code_of(backend.tool(), make_context(), 3) == "INTERNAL_ERROR"
    assert backend.calls == [3]


def test_a_lost_answer_of_a_write_is_found(backend: Backend, inject: Inject, make_context: MakeContext) -> None:
    """The write took effect, and the service still knows it."""
    inject({"malformed": True})

    known = run(backend.tool(effect="write", reconcile=backend.find), {"number": 3}, make_context())
    unknown = run(backend.tool(effect="write"), {"number": 4}, make_context())

    assert (known.ok, known.data) == (True, {"number": 3})
    assert (unknown.ok, unknown.unsure) == (False, True)


def test_a_call_is_late(backend: Backend, inject: Inject, make_context: MakeContext) -> None:
    """A call that is later than its time limit has timed out, and the service is not reached."""
    inject({"delay_ms": 30, "tool": "sample.*"}, {"delay_ms": 600_000, "nth": 2})
    context = make_context(time_s=1.0)

    codes = [code_of(backend.tool(), context, number) for number in range(2)]

    assert codes == [None, "TOOL_TIMEOUT"]
    assert backend.calls == [0]


def test_the_same_calls_are_struck_again(backend: Backend, inject: Inject, make_context: MakeContext) -> None:
    """Whatever the ids of turns, two stacks with the same file strike the calls of the same numbers."""
    runs = []
    for _ in range(2):
        inject({"chance": 0.3, "error": {"code": "NOT_FOUND"}})
        runs.append([code_of(backend.tool(), make_context()) for _ in range(60)])

    assert runs[0] == runs[1]
    assert {None, "NOT_FOUND"} == set(runs[0])


def test_other_tools_are_not_struck(backend: Backend, inject: Inject, make_context: MakeContext) -> None:
    """Only tools that the pattern matches go wrong."""
    inject({"tool": "other.*", "error": {"code": "NOT_FOUND"}})

    assert injected_faults() is not None
    assert code_of(backend.tool(), make_context()) is None
