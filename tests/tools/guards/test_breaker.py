"""On a real Valkey: what opens and closes a circuit, and which call may try."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from pytest_httpserver import HTTPServer

from tests.facts import wait_for
from tests.tools.guards.asking import Answer, Question, ask, made, processes
from turnloom.models.connections.redis import redis
from turnloom.models.errors import NeedsInput, ToolFailed, Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.guards import breaker
from turnloom.tools.guards.breaker import open_circuits
from turnloom.tools.registry import Tool

pytestmark = pytest.mark.usefixtures("redis_url")


class Service:
    """An outside service that fails by script; `calls` counts the calls that reached it."""

    def __init__(self) -> None:
        self.failure: BaseException | None = Unavailable("it is down", code="UPSTREAM_5XX")
        self.calls = 0

    def __call__(self, question: Question, context: ToolContext) -> Answer:
        self.calls += 1
        if self.failure is not None:
            raise self.failure
        return Answer(said="sunny")


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def tool(service: Service) -> Tool:
    return made(service, integration="weather")


@pytest.fixture
def short_pause(monkeypatch: pytest.MonkeyPatch) -> float:
    """Shorten the time for which a circuit stays open."""
    monkeypatch.setenv("TURNLOOM_BREAKER_PAUSE_S", "0.2")
    settings.cache_clear()
    return 0.2


def code(tool: Tool, **changes: Any) -> str | None:
    error = ask(tool, **changes).error
    return error.code if error else None


def test_five_failures_in_a_row_open_the_circuit(tool: Tool, service: Service) -> None:
    """The sixth call does not reach the service. Its error names no time to wait for."""
    before = [code(tool) for _ in range(5)]

    refused = ask(tool).error

    assert before == ["UPSTREAM_5XX"] * 5
    assert refused is not None
    assert (refused.code, refused.retry_at, service.calls) == ("CIRCUIT_OPEN", None, 5)
    assert 299 < open_circuits()["weather"] <= 300


def test_an_answer_between_failures_resets_the_count(tool: Tool, service: Service) -> None:
    for _ in range(4):
        ask(tool)
    failure, service.failure = service.failure, None
    ask(tool)
    service.failure = failure

    assert [code(tool) for _ in range(4)] == ["UPSTREAM_5XX"] * 4
    assert open_circuits() == {}


def test_each_try_of_a_call_asks(service: Service) -> None:
    """A call with many tries stops at the fifth failure."""
    assert code(made(service, integration="weather", retries=9)) == "CIRCUIT_OPEN"
    assert service.calls == 5


@pytest.mark.parametrize(
    "failure",
    [
        Unavailable("slow down", code="RATE_LIMITED"),
        ToolFailed("no", code="UPSTREAM_4XX"),
        ToolFailed("nothing there", code="NOT_FOUND"),
        NeedsInput({"city": True}),
        RuntimeError("a bug"),
        TimeoutError("a moment is too short to tell"),
    ],
    ids=lambda failure: getattr(failure, "code", type(failure).__name__),
)
def test_other_failures_do_not_open_the_circuit(tool: Tool, service: Service, failure: Exception) -> None:
    service.failure = failure
    for _ in range(8):
        ask(tool)

    assert (service.calls, open_circuits()) == (8, {})


@pytest.mark.parametrize(
    "failure", [ConnectionRefusedError(), Unavailable("busy"), ToolFailed("too large", code="UPSTREAM_5XX")]
)
def test_failures_of_the_service_open_the_circuit(tool: Tool, service: Service, failure: Exception) -> None:
    service.failure = failure
    for _ in range(8):
        ask(tool)

    assert service.calls == 5


def test_a_service_that_does_not_answer_in_time_has_failed(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """This counts if it had at least a second. A shorter deadline is the caller's choice."""
    monkeypatch.setattr("turnloom.tools.guards.breaker._PATIENCE_S", 0.0)
    service.failure = TimeoutError()
    tool = made(service, integration="weather")
    for _ in range(8):
        ask(tool)

    assert service.calls == 5


def test_after_the_pause_one_call_tries_and_its_answer_closes_the_circuit(
    tool: Tool, service: Service, short_pause: float
) -> None:
    """While it is under way the others are refused. After its answer all calls pass."""
    for _ in range(5):
        ask(tool)
    wait_for(lambda: not open_circuits())
    inside, go_on, said = threading.Event(), threading.Event(), []

    def slowly(question: Question, context: ToolContext) -> Answer:
        inside.set()
        go_on.wait(5)
        return Answer(said="sunny")

    trial = threading.Thread(target=lambda: said.append(ask(made(slowly, integration="weather"))))
    trial.start()
    inside.wait(5)
    others = {code(tool) for _ in range(20)}
    go_on.set()
    trial.join(5)
    service.failure = None

    assert others == {"CIRCUIT_OPEN"}
    assert said[0].ok
    assert (code(tool), service.calls) == (None, 6)


def test_a_trial_that_fails_begins_another_pause(tool: Tool, service: Service, short_pause: float) -> None:
    for _ in range(5):
        ask(tool)
    wait_for(lambda: not open_circuits())

    assert [code(tool), code(tool)] == ["UPSTREAM_5XX", "CIRCUIT_OPEN"]
    assert service.calls == 6


def test_a_lost_trial_does_not_block_the_service(
    service: Service, tool: Tool, short_pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process was killed. When its time is over, another call may try."""
    for _ in range(5):
        ask(tool)
    wait_for(lambda: not open_circuits())
    monkeypatch.setattr("turnloom.tools.guards.breaker._LEEWAY_S", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr("turnloom.tools.guards.breaker._script", lost_afterwards())
        code(tool, time_s=0.3)  # the trial
    service.failure = None

    assert code(tool) == "CIRCUIT_OPEN"
    wait_for(lambda: code(tool) is None)
    assert open_circuits() == {}


def lost_afterwards() -> Any:
    """Ask as usual, but lose the report of the outcome, as if the process had died."""
    real = breaker._script
    return lambda said, *rest: real(said, *rest) if said == "ask" else ("noted", 0)


def test_a_trial_that_says_nothing_of_the_service_leaves_it_to_the_next_call(
    tool: Tool, service: Service, short_pause: float
) -> None:
    """The trial ended with a question to the user, so the service was not asked."""
    for _ in range(5):
        ask(tool)
    wait_for(lambda: not open_circuits())
    service.failure = NeedsInput({"city": True})
    ask(tool)
    service.failure = None

    assert code(tool) is None


def test_each_account_has_its_circuit(service: Service, tool: Tool) -> None:
    """One user's broken server does not affect the others."""

    class Account:
        id = UUID("0198c0de-0000-7000-8000-00000000000a")

    mine = {"accounts": {"weather": Account()}}
    for _ in range(6):
        ask(tool, **mine)

    assert [code(tool, **mine), code(tool)] == ["CIRCUIT_OPEN", "UPSTREAM_5XX"]


def test_the_arguments_can_say_which_service_it_is(service: Service) -> None:
    """If they name no service, nothing is counted."""
    tool = made(service, integration=lambda question, _: "weather" if question.about == "rain" else None)
    for _ in range(6):
        ask(tool, "stars")
        ask(tool, "rain")

    assert [ask(tool, about).error.code for about in ("stars", "rain")] == ["UPSTREAM_5XX", "CIRCUIT_OPEN"]  # type: ignore[union-attr]


def test_without_redis_calls_pass(tool: Tool, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    settings.cache_clear()
    redis.cache_clear()
    for _ in range(8):
        ask(tool)

    assert service.calls == 8


@pytest.mark.parametrize("threads", [1, 25])
def test_a_hundred_calls_from_four_processes_reach_a_dead_service_a_handful_of_times(
    httpserver: HTTPServer, threads: int
) -> None:
    """Each call has three tries. A process makes its calls one after another, or all at once."""
    httpserver.expect_request("/").respond_with_data("down", status=503)

    ends = processes("breaker", httpserver.url_for("/"), calls=25, threads=threads)

    assert len(ends) == 100
    assert set(ends) <= {"UPSTREAM_5XX", "CIRCUIT_OPEN"}
    assert len(httpserver.log) == 5


def test_before_the_first_answer_few_calls_are_under_way_after_it_any_number() -> None:
    """Calls that wait for the first answer then go on. A killed call keeps its place only for its time."""
    inside, most, gate, first = set[int](), [], threading.Event(), threading.Event()

    def slowly(question: Question, context: ToolContext) -> Answer:
        inside.add(threading.get_ident())
        most.append(len(inside))
        (gate if first.is_set() else first).wait(5)
        inside.discard(threading.get_ident())
        return Answer(said="sunny")

    tool = made(slowly, integration="weather")
    breaker._script("ask", "weather", "killed", 0.2)
    with ThreadPoolExecutor(20) as pool:
        calls = [pool.submit(ask, tool) for _ in range(20)]
        wait_for(lambda: len(inside) == 5)  # by then the place of the killed call is free
        before = max(most)
        first.set()
        wait_for(lambda: len(inside) >= 15)
        gate.set()
        ends = [call.result().ok for call in calls]

    assert (before, ends) == (5, [True] * 20)
