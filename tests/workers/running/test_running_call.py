"""Running calls decide whether a call that has ended waits for the others, so that they are recorded together."""

import math

import pytest

from tests.workers.running.test_read_ahead import STEP
from turnloom.workers.running.running_call import RunningCall, may_join_until

NOW = 1_000.0


def begun(seconds_ago: float) -> RunningCall:
    return RunningCall([STEP.id], STEP, NOW - seconds_ago, math.inf, is_told=True)


@pytest.mark.parametrize(
    ("others", "may_join"),
    [
        pytest.param([], False, id="there is none"),
        pytest.param([0.3, 1.0], False, id="all of them last"),
        pytest.param([1.0, 0.001], True, id="one has just begun"),
    ],
)
def test_a_record_waits_only_for_quick_calls(others: list[float], may_join: bool) -> None:
    """A call that has run for longer than a quick call takes is not waited for."""
    assert (may_join_until(map(begun, others)) > NOW) is may_join
