"""The end of a call becomes the end of its step."""

import pytest

from turnloom.models.contracts.envelope import Envelope, ToolError
from turnloom.models.ledger.steps import ClaimedStep
from turnloom.workers.running.outcomes import ended


@pytest.mark.parametrize(
    ("effect", "unsure", "status"),
    [("read", True, "failed"), ("write", True, "unknown"), ("spend", True, "unknown"), ("write", False, "failed")],
)
def test_a_call_whose_answer_was_lost_ends_unknown(effect: str, unsure: bool, status: str) -> None:
    """If the call may have had an effect, it is not repeated without a decision."""
    step = ClaimedStep(
        "s",
        "mcp.shop.order",
        1,
        {},
        1_000,
        effect,
        None,
        [],
        None,
        unsure=False,
        left_ms=1,
        inputs={},
        waits=[],
        has_rivals=False,
    )
    error = ToolError(code="UPSTREAM_5XX", message="the answer was lost")

    finished = ended(step, Envelope(ok=False, error=error, unsure=unsure))

    assert (finished.status, (finished.error or {})["code"]) == (status, "UPSTREAM_5XX")
