"""Tools for workers that run in the test's own process."""

import pytest

from tools.registry import Registry, Tool, load_registry


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> dict[str, Tool]:
    """The workers' tools: those of the sim pack, and what a test makes of them."""
    known = dict(load_registry(["sim"]).tools)
    monkeypatch.setattr("workers.calling.registry", lambda: Registry(known))
    return known
