"""On a real Valkey: which calls pass, which ones wait, and until when."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from pytest_httpserver import HTTPServer
from structlog.testing import capture_logs

from tests.facts import wait_for
from tests.tools.guards.asking import Answer, Question, ask, made, processes
from turnloom.models.connections.redis import redis
from turnloom.models.contracts.envelope import ToolError
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool

pytestmark = pytest.mark.usefixtures("redis_url")

NOA, TAL = {"user": {"id": "noa"}}, {"user": {"id": "tal"}}


def answer(question: Question, context: ToolContext) -> Answer:
    return Answer(said="sunny")


@pytest.fixture
def tool() -> Tool:
    return made(answer, per_user="2/minute")


def refused(tool: Tool, **changes: object) -> ToolError | None:
    return ask(tool, **changes).error  # type: ignore[arg-type]


def wait_s(tool: Tool, **changes: object) -> float:
    """Make a call. Return how long it has to wait."""
    error = refused(tool, **changes)
    if error is None:
        return 0.0
    assert error.retry_at is not None
    return round((error.retry_at - datetime.now(UTC)).total_seconds(), 0)


def test_a_user_may_call_so_often(tool: Tool) -> None:
    """The error says when the next call may be made. Another user, or a namesake in another tenant, may call."""
    before = [refused(tool, **NOA) for _ in range(2)]

    error = refused(tool, **NOA)

    assert before == [None, None]
    assert error is not None
    assert error.retry_at is not None
    assert (error.code, error.message) == ("RATE_LIMITED", "test.ask may be called 2 times a minute for a user")
    assert timedelta(seconds=55) < error.retry_at - datetime.now(UTC) <= timedelta(seconds=60)
    assert [refused(tool, **TAL), refused(tool, **NOA, tenant_id=new_id())] == [None, None]


def test_without_a_user_the_conversation_counts(tool: Tool) -> None:
    assert [wait_s(tool, conversation_id="c1") for _ in range(3)] == [0, 0, 60]
    assert wait_s(tool, conversation_id="c2") == 0


def test_a_tenants_users_share_its_rate() -> None:
    tool = made(answer, per_tenant="2/minute")

    assert [wait_s(tool, **NOA), wait_s(tool, **TAL), wait_s(tool, **NOA)] == [0, 0, 60]
    assert wait_s(tool, tenant_id=new_id()) == 0


def test_a_call_over_its_users_rate_takes_nothing_from_the_tenant() -> None:
    tool = made(answer, per_user="1/minute", per_tenant="3/minute")

    assert [wait_s(tool, longest_wait_s=600.0, **NOA) for _ in range(5)] == [0, 60, 120, 180, 240]
    assert [wait_s(tool, **TAL), wait_s(tool)] == [0, 0]


def test_waiting_calls_get_their_times_in_turn(tool: Tool) -> None:
    """No call comes too early: no minute has more than two."""
    waits = [wait_s(tool, longest_wait_s=600.0, **NOA) for _ in range(8)]

    assert waits == [0, 0, 60, 60, 120, 120, 180, 180]


def test_a_call_finds_its_place_at_its_time() -> None:
    """A step counts once, however often it is tried. A new call waits behind the waiting ones."""
    tool, step = made(answer, per_user="1/second"), {"turn_id": new_id(), "step_id": "a"}
    wait_s(tool, **NOA)
    first = refused(tool, **NOA, **step)
    assert first is not None
    assert first.retry_at is not None
    behind = wait_s(tool, **NOA)
    its_time = first.retry_at
    wait_for(lambda: datetime.now(UTC) > its_time)

    assert behind == 2
    assert [refused(tool, **NOA, **step), refused(tool, **NOA, **step)] == [None, None]
    assert wait_s(tool, **NOA) >= 1


def test_a_call_that_cannot_wait_so_long_takes_no_place(tool: Tool) -> None:
    """Its turn would end before. Its error names the time, and later calls get the place."""
    waits = [wait_s(tool, longest_wait_s=30.0, **NOA) for _ in range(5)]

    assert waits == [0, 0, 60, 60, 60]


def test_the_tries_of_a_call_count_once() -> None:
    calls = []

    def flaky(question: Question, context: ToolContext) -> Answer:
        calls.append(question)
        if len(calls) < 3:
            raise Unavailable("not now", retry_after_s=0)
        return Answer(said="sunny")

    tool = made(flaky, per_user="1/minute", retries=2)

    assert ask(tool, **NOA).ok
    assert len(calls) == 3


def test_without_redis_calls_pass(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not wait for Redis one after the other. The log says so now and then."""
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    settings.cache_clear()
    redis.cache_clear()

    with capture_logs() as logs:
        calls = [refused(tool, **NOA) for _ in range(50)]

    assert calls == [None] * 50
    assert 1 <= [line["event"] for line in logs].count("redis.silent") < 10


@pytest.mark.parametrize("rate", ["5", "5/fortnight", "0/minute", "five/minute", "5/minute "])
def test_a_rate_that_cannot_be_read_is_refused_where_it_is_declared(rate: str) -> None:
    with pytest.raises(TypeError, match="is not a rate"):
        made(answer, per_tenant=rate)


def test_processes_share_a_rate(httpserver: HTTPServer) -> None:
    """Ten of forty simultaneous calls reach the service."""
    httpserver.expect_request("/").respond_with_data("sunny")

    ends = processes("rate", httpserver.url_for("/"), calls=10, threads=5)

    assert Counter(ends) == {"sunny": 10, "RATE_LIMITED": 30}
    assert len(httpserver.log) == 10
