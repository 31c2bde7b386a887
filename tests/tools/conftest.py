import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from turnloom.models.contracts.envelope import Envelope
from turnloom.models.runtime.ids import new_id
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import load_registry
from turnloom.tools.runner import run

TENANT = UUID("0198c0de-0000-7000-8000-000000000001")


@pytest.fixture
def make_context() -> Callable[..., ToolContext]:
    """Make the context of a step of some turn; `time_s` is the remaining time."""
    turn_id = new_id()

    def make(*, time_s: float = 15.0, **changes: Any) -> ToolContext:
        given: dict[str, Any] = {
            "tenant_id": TENANT,
            "conversation_id": "c1",
            "turn_id": turn_id,
            "step_id": "s1",
            "attempt": 1,
            "idempotency_key": f"{turn_id}:s1",
            "deadline": time.monotonic() + time_s,
        }
        return ToolContext(**given | changes)

    return make


@pytest.fixture
def call(make_context: Callable[..., ToolContext]) -> Callable[..., Envelope]:
    """Call a shipped tool through the runner, as a worker does."""
    registry = load_registry(["sim", "dates", "hotel", "travel"])

    def call_tool(name: str, args: dict[str, Any], **changes: Any) -> Envelope:
        return run(registry.get(name), args, make_context(**changes))

    return call_tool
