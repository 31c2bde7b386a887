import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel, Field
from structlog.testing import capture_logs

from turnloom.models.errors import NeedsInput, ToolFailed, Unavailable
from turnloom.tools.context import ToolContext
from turnloom.tools.envelope import MAX_RESULT_BYTES
from turnloom.tools.registry import Tool
from turnloom.tools.runner import run

MakeContext = Callable[..., ToolContext]


class Query(BaseModel):
    number: int = Field(0, ge=0)
    text: str = ""


class Found(BaseModel):
    value: Any
    day: datetime | None = None


def make_tool(behave: Callable[[Query], Any], **options: Any) -> Tool:
    def call(query: Query, _context: ToolContext) -> Any:
        return behave(query)

    given: dict[str, Any] = {"name": "sample.act", "description": "Act.", "effect": "read"}
    return Tool(input=Query, output=Found, call=call, **given | options)


def construct(**fields: Any) -> Found:
    """Make an instance without validation, as careless tools do."""
    return Found.model_construct(None, **fields)


def raising(error: BaseException) -> Callable[[Query], Any]:
    def behave(_query: Query) -> Any:
        raise error

    return behave


class Provider:
    """An outside service that is down for some calls."""

    def __init__(self, *outages: Unavailable) -> None:
        self.outages = list(outages)
        self.calls = 0

    def __call__(self, _query: Query) -> Found:
        self.calls += 1
        if self.outages:
            raise self.outages.pop(0)
        return Found(value="up")


def test_a_result_comes_back_as_json(make_context: MakeContext) -> None:
    """Dates and other types become JSON values."""
    day = datetime(2026, 11, 21, tzinfo=UTC)

    envelope = run(make_tool(lambda query: Found(value=query.number, day=day)), {"number": 3}, make_context())

    assert envelope.ok
    assert envelope.data == {"value": 3, "day": "2026-11-21T00:00:00Z"}


def test_every_bad_argument_is_named(make_context: MakeContext) -> None:
    """One message has all faults, and the tool is not called."""
    provider = Provider()

    envelope = run(make_tool(provider), {"number": -1, "text": ["x"]}, make_context())

    assert envelope.error
    assert envelope.error.code == "BAD_ARGS"
    assert "number:" in envelope.error.message
    assert "text:" in envelope.error.message
    assert provider.calls == 0


def test_a_final_failure_keeps_its_code_and_is_not_repeated(make_context: MakeContext) -> None:
    """`ToolFailed` ends the call at once."""
    later = datetime(2026, 12, 1, tzinfo=UTC)
    retries: list[Any] = []
    tool = make_tool(raising(ToolFailed("slow down", code="RATE_LIMITED", retry_at=later)))

    envelope = run(tool, {}, make_context(), lambda *retry: retries.append(retry))

    assert envelope.error
    assert (envelope.error.code, envelope.error.message) == ("RATE_LIMITED", "slow down")
    assert envelope.error.retry_at == later
    assert retries == []


def test_a_question_for_the_user_passes(make_context: MakeContext) -> None:
    """`NeedsInput` becomes the envelope's needs."""
    envelope = run(make_tool(raising(NeedsInput({"city": ["Paris", "Rome"], "when": True}))), {}, make_context())

    assert not envelope.ok
    assert envelope.needs == {"city": ["Paris", "Rome"], "when": True}


@pytest.mark.parametrize(
    "error",
    [
        *(ValueError("x"), KeyError("x"), RecursionError(), MemoryError(), AssertionError(), StopIteration()),
        *(SystemExit(3), KeyboardInterrupt(), GeneratorExit(), BaseException("x")),
        ToolFailed("odd code", code="NO_SUCH_CODE"),
        NeedsInput({"x": object()}),  # type: ignore[dict-item]
        Unavailable("odd wait", retry_after_s=float("nan")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_nothing_a_tool_raises_gets_past(error: BaseException, make_context: MakeContext) -> None:
    """Foreign exceptions and exits of the interpreter are recorded as our own faults."""
    envelope = run(make_tool(raising(error), retries=0), {}, make_context())

    assert envelope.error
    assert envelope.error.code in ("INTERNAL_ERROR", "UPSTREAM_5XX")


def test_a_crash_is_logged_without_arguments(make_context: MakeContext) -> None:
    """The log has the place of a crash, but neither arguments nor the exception's text."""

    def crash(query: Query) -> Any:
        raise ValueError(query.text)

    with capture_logs() as lines:
        envelope = run(make_tool(crash), {"text": "my secret"}, make_context())

    assert [line["event"] for line in lines] == ["tool.crashed"]
    assert "crash" in lines[0]["frames"]
    assert "my secret" not in str(lines)
    assert "my secret" not in str(envelope)


def test_a_timeout_inside_a_tool_has_its_name(make_context: MakeContext) -> None:
    """Python's own TimeoutError becomes TOOL_TIMEOUT."""
    envelope = run(make_tool(raising(TimeoutError())), {}, make_context())

    assert envelope.error
    assert envelope.error.code == "TOOL_TIMEOUT"


def test_a_transient_failure_is_tried_again(make_context: MakeContext) -> None:
    """Two outages and two retries give one result. Each retry is announced with its pause."""
    provider = Provider(Unavailable("out", code="RATE_LIMITED"), Unavailable("out"))
    retries: list[tuple[int, str, float]] = []

    envelope = run(make_tool(provider), {}, make_context(), lambda *retry: retries.append(retry))

    assert envelope.data == {"value": "up", "day": None}
    assert provider.calls == 3
    assert [(number, code) for number, code, _ in retries] == [(1, "RATE_LIMITED"), (2, "UPSTREAM_5XX")]
    assert all(0.05 <= pause_s <= 1.05 for _, _, pause_s in retries)


@pytest.mark.parametrize(
    ("raised", "recorded"),
    [(None, "UPSTREAM_5XX"), ("database_unavailable", "UPSTREAM_5XX"), ("TOOL_TIMEOUT", "TOOL_TIMEOUT")],
)
def test_retries_end(raised: str | None, recorded: str, make_context: MakeContext) -> None:
    """After the last retry the failure is recorded under the exception's code."""
    provider = Provider(*[Unavailable("out", code=raised) for _ in range(9)])

    envelope = run(make_tool(provider, retries=1), {}, make_context())

    assert envelope.error
    assert envelope.error.code == recorded
    assert provider.calls == 2


def test_the_other_side_says_when_to_try_again(make_context: MakeContext) -> None:
    """Retry-After is the pause if it ends before the deadline."""
    provider = Provider(Unavailable("out", retry_after_s=0.01))
    pauses: list[float] = []

    envelope = run(make_tool(provider), {}, make_context(), lambda _number, _code, pause_s: pauses.append(pause_s))

    assert envelope.ok
    assert pauses == [0.01]


def test_no_pause_crosses_the_deadline(make_context: MakeContext) -> None:
    """If the pause does not fit, the call gives up at once and says when it may work again."""
    provider = Provider(Unavailable("slow down", code="RATE_LIMITED", retry_after_s=60))
    started = time.monotonic()

    envelope = run(make_tool(provider), {}, make_context(time_s=3))

    assert time.monotonic() - started < 20
    assert provider.calls == 1
    assert envelope.error
    assert envelope.error.code == "RATE_LIMITED"
    assert envelope.error.retry_at
    assert timedelta(seconds=50) < envelope.error.retry_at - datetime.now(UTC) <= timedelta(seconds=60)


def test_nothing_is_called_after_the_deadline(make_context: MakeContext) -> None:
    """A call that comes too late does not act."""
    provider = Provider()

    envelope = run(make_tool(provider), {}, make_context(time_s=-1))

    assert envelope.error
    assert envelope.error.code == "TOOL_TIMEOUT"
    assert provider.calls == 0


@pytest.mark.parametrize(
    "result",
    [
        None,
        "text",
        {"other": 1},
        {"value": 1, "day": "no day"},
        7,
        construct(day="no day"),
        construct(value=1, day=3.5),
    ],
    ids=str,
)
def test_a_result_of_another_shape_is_refused(result: object, make_context: MakeContext) -> None:
    """A value that the output model does not allow is an internal error, even inside an instance of it."""
    envelope = run(make_tool(lambda _query: result), {}, make_context())

    assert envelope.error
    assert envelope.error.code == "INTERNAL_ERROR"


def test_a_plain_dictionary_may_be_a_result(make_context: MakeContext) -> None:
    """A result only has to fit the output model."""
    envelope = run(make_tool(lambda _query: {"value": [1]}), {}, make_context())

    assert envelope.data == {"value": [1], "day": None}


def test_a_huge_result_is_refused(make_context: MakeContext) -> None:
    """Ten megabytes do not reach the ledger. The message has the limit."""
    envelope = run(make_tool(lambda _query: Found(value="x" * 10_000_000)), {}, make_context())

    assert envelope.error
    assert envelope.error.code == "INTERNAL_ERROR"
    assert str(MAX_RESULT_BYTES) in envelope.error.message


def test_text_that_postgres_refuses_is_replaced(make_context: MakeContext) -> None:
    """NUL and lone surrogates become U+FFFD, in keys and values at any depth."""
    value = [{"a\x00b": "c\ud800d"}, ("\udfff",), "fine \U0001f600"]

    envelope = run(make_tool(lambda _query: Found(value=value)), {}, make_context())

    assert envelope.data["value"] == [{"a\ufffdb": "c\ufffdd"}, ["\ufffd"], "fine \U0001f600"]


def test_texts_of_failures_are_replaced_too(make_context: MakeContext) -> None:
    """Messages and choices are stored in the ledger like results."""
    failed = run(make_tool(raising(ToolFailed("a\x00b"))), {}, make_context())
    asking = run(make_tool(raising(NeedsInput({"city": ["a\x00b"]}))), {}, make_context())

    assert failed.error
    assert failed.error.message == "a\ufffdb"
    assert asking.needs == {"city": ["a\ufffdb"]}


@pytest.mark.parametrize(
    "value",
    [float("nan"), [float("inf")], {"x": float("-inf")}, 2**80, {1, 2}, b"\xff", object(), {(1,): 3}],
    ids=["nan", "infinity", "less than all", "a large number", "a set", "bytes", "an object", "a key that is no text"],
)
def test_what_is_not_json_never_reaches_the_ledger(value: object, make_context: MakeContext) -> None:
    """A result that JSON cannot hold is refused, or arrives as plain JSON."""
    envelope = run(make_tool(lambda _query: Found(value=value)), {}, make_context())

    assert envelope.error or envelope.data["value"] in ([1, 2], {"1": 3})
    assert envelope.ok or (envelope.error and envelope.error.code == "INTERNAL_ERROR")


def test_a_deeply_nested_result_is_refused(make_context: MakeContext) -> None:
    """Endless nesting breaks neither the worker nor the ledger."""
    nested: list[Any] = []
    for _ in range(5000):
        nested = [nested]

    envelope = run(make_tool(lambda _query: Found(value=nested)), {}, make_context())

    assert envelope.error
    assert envelope.error.code == "INTERNAL_ERROR"
