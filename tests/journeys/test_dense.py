"""Placement `dense`: the same order and the same results, with fewer messages."""

from pathlib import Path

import httpx2
import pytest

from tests.journeys.following import assert_ran_once_in_order, finished, run, wait_step
from tests.journeys.test_parking import NEEDS, decide, waiting
from tests.journeys.test_plans import SHAPES


@pytest.mark.parametrize("name", ["group of three groups", "N", "chain of forty", "fan-out of forty", "random 1"])
def test_each_step_runs_once_and_in_order(asking_dense: httpx2.Client, log: Path, name: str) -> None:
    """Whatever the shape, steps run exactly once and after their needs."""
    needs = SHAPES[name]

    turn = run(asking_dense, [wait_step(step, *before) for step, before in needs.items()])

    assert turn["status"] == "succeeded"
    assert_ran_once_in_order(log, turn["turn_id"], needs)


def test_reads_ride_together(asking_dense: httpx2.Client) -> None:
    """Four independent reads overlap in one process, and the join runs there too."""
    turn = run(asking_dense, [*(wait_step(name, ms=300) for name in "abcd"), wait_step("e", *"abcd")])

    starts = [step["started_at"] for step in turn["steps"][:4]]
    ends = [step["finished_at"] for step in turn["steps"][:4]]
    assert len({step["worker"] for step in turn["steps"]}) == 1
    assert max(starts) < min(ends)


def test_writes_and_other_queues_get_messages_of_their_own(asking_dense: httpx2.Client) -> None:
    """What has an effect does not ride along, and what burns CPU runs on the process pool."""
    steps = [
        wait_step("a", ms=50),
        {"id": "w", "tool": "sim.write", "args": {"value": 1}},
        {"id": "b", "tool": "sim.burn", "args": {"ms": 5}, "needs": ["a", "w"]},
        wait_step("c", "b"),
    ]

    turn = run(asking_dense, steps)

    assert [step["status"] for step in turn["steps"]] == ["succeeded"] * 4
    assert turn["steps"][2]["worker"].startswith("worker-cpu")


def test_a_step_waits_for_approval(asking_dense: httpx2.Client, log: Path) -> None:
    """The steps that ride together go on without it; after the approval everything has run once and in order."""
    turn_id = waiting(asking_dense)

    decide(asking_dense, turn_id)

    assert finished(asking_dense, turn_id)["status"] == "succeeded"
    assert_ran_once_in_order(log, turn_id, NEEDS)
