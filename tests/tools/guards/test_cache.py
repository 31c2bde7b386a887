"""On a real Valkey: which call fetches a value, which ones wait, and how long a value is kept."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.facts import wait_for
from tests.tools.guards.asking import Answer, Question, ask, context, made, processes
from turnloom.models.connections.redis import redis, run_script
from turnloom.models.errors import NeedsInput, ToolFailed
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.guards import cache
from turnloom.tools.registry import Tool

pytestmark = pytest.mark.usefixtures("redis_url")


class Service:
    """A service that numbers its answers, and waits while its gate is closed."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.calls = 0
        self.size = 0

    def __call__(self, question: Question, context: ToolContext) -> Answer:
        self.calls += 1
        number = self.calls
        self.gate.wait(10)
        if self.failure is not None:
            raise self.failure
        return Answer(said=f"{question.about} {number} {'!' * self.size}".strip())


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def tool(service: Service) -> Tool:
    return made(service, cache_s=60.0)


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return the threads that have to wait."""
    told = set()

    def run(name: str, keys: Any, args: Any) -> Any:
        answer = run_script(name, keys, args)
        if answer and answer[0] == b"wait":
            told.add(threading.get_ident())
        return answer

    monkeypatch.setattr("turnloom.tools.guards.cache.run_script", run)
    return told


def said(tool: Tool, about: str = "rain", **changes: object) -> str:
    envelope = ask(tool, about, **changes)  # type: ignore[arg-type]
    assert envelope.ok, envelope.error
    return str(envelope.data["said"])


def entries() -> list[bytes]:
    return [key for key in redis().scan_iter("turnloom:cache:*") if redis().type(key) == b"hash"]


def test_a_call_is_made_once_and_the_next_one_says_so(tool: Tool, service: Service) -> None:
    """This holds for another conversation and another turn."""
    first, second = ask(tool, "rain"), ask(tool, "rain", conversation_id="c2", user={"id": "noa"})

    assert (first.data, first.cache) == (second.data, None)
    assert (second.cache, service.calls) == ("shared", 1)


@pytest.mark.parametrize("other", ["tenant", "arguments", "version", "name"])
def test_another_call_is_another_entry(service: Service, tool: Tool, other: str) -> None:
    said(tool)
    changed = {"version": {"version": 2}, "name": {"name": "test.other"}}.get(other, {})
    whose = {"tenant_id": new_id()} if other == "tenant" else {}

    said(made(service, cache_s=60.0, **changed), "snow" if other == "arguments" else "rain", **whose)

    assert service.calls == 2


def test_an_entry_holds_for_its_time(service: Service) -> None:
    tool = made(service, cache_s=0.2)
    said(tool)

    wait_for(lambda: not entries())

    assert said(tool) == "rain 2"


@pytest.mark.parametrize("failure", [ToolFailed("no", code="UPSTREAM_4XX"), NeedsInput({"about": True})])
def test_a_failure_is_not_kept(tool: Tool, service: Service, failure: Exception) -> None:
    service.failure = failure
    assert not ask(tool, "rain").ok
    service.failure = None

    assert said(tool) == "rain 2"


def test_equal_calls_wait_for_the_first_one(tool: Tool, service: Service) -> None:
    service.gate.clear()
    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(said, tool) for _ in range(20)]
        wait_for(lambda: service.calls == 1)
        service.gate.set()
        answers = {each.result() for each in asked}

    assert (answers, service.calls) == ({"rain 1"}, 1)


def test_calls_that_wait_share_a_failure(tool: Tool, service: Service, waiting: set[int]) -> None:
    """They do not ask a dead service one after another."""
    service.failure = ToolFailed("no", code="UPSTREAM_4XX")
    service.gate.clear()
    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(ask, tool, "rain") for _ in range(20)]
        wait_for(lambda: len(waiting) == 19)
        service.gate.set()
        codes = {each.result().error.code for each in asked}  # type: ignore[union-attr]

    assert (codes, service.calls) == ({"UPSTREAM_4XX"}, 1)


def test_calls_that_wait_get_a_result_that_is_too_long_to_keep(tool: Tool, service: Service, waiting: set[int]) -> None:
    service.size = cache.MAX_RESULT_BYTES
    service.gate.clear()
    with ThreadPoolExecutor(5) as pool:
        asked = [pool.submit(said, tool) for _ in range(5)]
        wait_for(lambda: len(waiting) == 4)
        service.gate.set()
        answers = {each.result() for each in asked}

    assert (len(answers), service.calls, entries()) == (1, 1, [])


def test_a_waiting_call_takes_over_from_a_killed_one(tool: Tool, service: Service) -> None:
    """The right to fetch ends after half of its time, while the waiting calls still have time left."""
    key = cache._key(tool, Question(about="rain"), context())
    flight = cache._Flight(key, "killed")
    assert flight.ask("", 0.3)[0] == b"fly"
    began = time.monotonic()

    answer = said(tool, time_s=3.0)

    assert (answer, service.calls) == ("rain 1", 1)
    assert time.monotonic() - began > 0.2


def test_a_call_waits_no_longer_than_its_deadline(tool: Tool, service: Service) -> None:
    key = cache._key(tool, Question(about="rain"), context())
    cache._Flight(key, "slow").ask("", 30.0)

    error = ask(tool, "rain", time_s=0.2).error

    assert error is not None
    assert (error.code, service.calls) == ("TOOL_TIMEOUT", 0)


def test_one_caller_refreshes_an_entry_that_is_about_to_end(
    tool: Tool, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others get the old result meanwhile. Nobody waits, and the service is asked once."""
    said(tool)
    monkeypatch.setattr("turnloom.tools.guards.cache._eagerness", lambda: 1e9)
    service.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        refresh = pool.submit(said, tool)
        wait_for(lambda: service.calls == 2)
        meanwhile = {said(tool) for _ in range(10)}
        service.gate.set()

    assert (meanwhile, refresh.result(), service.calls) == ({"rain 1"}, "rain 2", 2)


def test_a_refresh_that_fails_leaves_the_old_result(
    tool: Tool, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(tool)
    monkeypatch.setattr("turnloom.tools.guards.cache._eagerness", lambda: 1e9)
    service.failure = ToolFailed("no", code="UPSTREAM_4XX")

    assert (said(tool), service.calls) == ("rain 1", 2)


def test_an_entry_that_the_output_model_refuses_is_fetched_again(tool: Tool, service: Service) -> None:
    """An earlier release stored it."""
    said(tool)
    (key,) = entries()
    redis().hset(key.decode(), "result", '{"told": "rain 0"}')

    assert [said(tool), said(tool)] == ["rain 2", "rain 2"]


def test_without_redis_calls_are_made(tool: Tool, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    settings.cache_clear()
    redis.cache_clear()

    assert [said(tool), said(tool)] == ["rain 1", "rain 2"]


def test_a_hundred_reads_at_once_from_four_processes_are_one_call(httpserver: HTTPServer) -> None:
    def slowly(request: Request) -> Response:
        threading.Event().wait(0.3)
        return Response("sunny")

    httpserver.expect_request("/").respond_with_handler(slowly)

    ends = processes("cache", httpserver.url_for("/"), calls=25, threads=25)

    assert ends == ["sunny"] * 100
    assert len(httpserver.log) == 1
