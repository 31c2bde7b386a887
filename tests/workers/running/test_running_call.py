"""Running calls decide whether one that has ended waits for the others, to be recorded together."""

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
def test_a_record_waits_only_for_what_may_end_at_once(others: list[float], may_join: bool) -> None:
    """A call that has run for longer than a quick one is none of them, so its end is not waited for."""
    assert (may_join_until(map(begun, others)) > NOW) is may_join
