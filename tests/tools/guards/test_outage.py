"""Redis goes away between calls and comes back with its data. It is a fakeredis, which can be disconnected at once."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from fakeredis import FakeRedis, FakeServer

from tests.facts import wait_for
from tests.tools.guards.asking import Answer, Question, ask, made
from turnloom.models.connections.redis import redis
from turnloom.models.errors import Unavailable
from turnloom.tools.context import ToolContext
from turnloom.tools.guards.breaker import open_circuits


class Service:
    """A service that numbers its answers, or fails. `calls` counts the calls that reached it."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.calls = 0

    def __call__(self, question: Question, context: ToolContext) -> Answer:
        self.calls += 1
        if self.failure is not None:
            raise self.failure
        return Answer(said=str(self.calls))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """A Redis in this process. It is away while `connected` is False."""
    server = FakeServer()

    def from_url(_url: str, **options: Any) -> FakeRedis:
        return FakeRedis(server=server, **options)

    monkeypatch.setattr("turnloom.models.connections.redis.Redis", SimpleNamespace(from_url=from_url))
    monkeypatch.setattr("turnloom.models.connections.redis._OUTAGE_S", 0.05)
    redis.cache_clear()
    yield server
    redis.cache_clear()


def test_a_rate_is_kept_through_an_outage(server: FakeServer) -> None:
    """Calls pass meanwhile. Afterwards the earlier ones still count."""
    tool = made(Service(), per_user="2/minute")
    before = [ask(tool).error for _ in range(2)]

    server.connected = False
    meanwhile = [ask(tool).error for _ in range(3)]
    server.connected = True

    assert [*before, *meanwhile] == [None] * 5
    refused: list[Any] = []
    wait_for(lambda: refused.append(ask(tool).error) or refused[-1])
    assert refused[-1].code == "RATE_LIMITED"


def test_a_circuit_stays_open_through_an_outage(server: FakeServer) -> None:
    """Calls reach the service meanwhile. Afterwards they do not."""
    service = Service(Unavailable("it is down", code="UPSTREAM_5XX"))
    tool = made(service, integration="weather")
    for _ in range(6):
        ask(tool)
    before = service.calls

    server.connected = False
    for _ in range(3):
        ask(tool)
    server.connected = True

    assert (before, service.calls) == (5, 8)
    wait_for(open_circuits)
    error = ask(tool).error
    assert error is not None
    assert error.code == "CIRCUIT_OPEN"


def test_a_result_is_kept_through_an_outage(server: FakeServer) -> None:
    """The service is asked meanwhile. Afterwards the earlier result is there."""
    tool = made(Service(), cache_s=60.0)
    before = ask(tool).data["said"]

    server.connected = False
    meanwhile = [ask(tool).data["said"] for _ in range(2)]
    server.connected = True

    assert [before, *meanwhile] == ["1", "2", "3"]
    wait_for(lambda: ask(tool).data["said"] == before)
