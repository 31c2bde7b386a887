"""Tools and a planner for tests whose workers run in the test's own process."""

from collections.abc import Iterator

import pytest

from tests.workers.turns.early_planner import Planner
from turnloom.tools.registry import Registry, Tool, load_registry


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> dict[str, Tool]:
    """The tools that the workers know: those of the sim pack. A test may replace them."""
    known = dict(load_registry(["sim"]).tools)
    monkeypatch.setattr("turnloom.workers.running.step_call.registry", lambda: Registry(known))
    return known


@pytest.fixture
def planner(tools: dict[str, Tool], database: str, redis_url: str) -> Iterator[Planner]:
    """A planner of a claimed turn."""
    planner = Planner(tools)
    with planner.reads:
        yield planner
        planner.gate.set()
