"""A process that holds a whole bundle dies: recorded steps are kept, and the rest runs again elsewhere."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.chaos.drills import PLAN, Ground, disorders, drilled_stack, look, post_until_accepted
from tests.facts import wait_for
from tests.journeys.following import FINAL, sim_lines, wait_step

WITHIN_S = 60
AHEAD = [*PLAN, wait_step("g", "c", ms=10), wait_step("h", "g", "d", ms=10), wait_step("i", "h", ms=10)]
"""Reads that wait for each other in one bundle, beside a write."""
NEEDS = {
    "a": [],
    "b": [],
    "c": ["a"],
    "d": ["a", "b"],
    "e": ["c"],
    "f": ["d", "e"],
    "g": ["c"],
    "h": ["g", "d"],
    "i": ["h"],
}
POINTS = (
    "plan.recorded",
    "read.claimed read.claimed read.claimed",
    "read.returned read.returned",
    "steps.recorded",
    "steps.recorded turn.reclaimed",
    "write.returned",
    "reply.due",
)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with drilled_stack(tmp_path_factory.mktemp("dense"), TURNLOOM_PLACEMENT="dense") as ground:
        yield ground


@pytest.mark.drill
@pytest.mark.timeout(4 * WITHIN_S)
@pytest.mark.parametrize("points", POINTS)
def test_a_process_that_holds_a_bundle_dies_at(points: str, ground: Ground) -> None:
    """The turn succeeds in order and writes once. The number of claims of a step is at most one more than of deaths."""
    ground.crash_at.write_text("".join(f"{point}\n" for point in points.split()))

    turn_id = post_until_accepted(ground.api, message_id=points.replace(" ", "+"), plan={"steps": AHEAD})
    wait_for(lambda: look(ground.api, turn_id).get("status") in FINAL, WITHIN_S)

    turn = look(ground.api, turn_id)
    wait_for(lambda: not ground.crash_at.read_text())
    assert turn["status"] == "succeeded"
    assert disorders(turn["steps"], NEEDS) == 0
    assert Counter(sim_lines(ground.log, turn_id))["E", "e"] == 1
    assert all(step["attempt"] <= 1 + len(points.split()) for step in turn["steps"])
