"""Placement `dense` gives the same order and the same results with fewer messages."""

from pathlib import Path

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.following import assert_ran_once_in_order, events_of, finished, post, run, sim_lines, wait_step
from tests.journeys.test_parking import NEEDS, decide, waiting
from tests.journeys.test_plans import SHAPES


@pytest.mark.parametrize("name", ["group of three groups", "N", "chain of forty", "fan-out of forty", "random 1"])
def test_each_step_runs_once_and_in_order(asking_dense: httpx2.Client, log: Path, name: str) -> None:
    """Steps run exactly once and after their needs, whatever the shape of the plan."""
    needs = SHAPES[name]

    turn = run(asking_dense, [wait_step(step, *before) for step, before in needs.items()])

    assert turn["status"] == "succeeded"
    assert_ran_once_in_order(log, turn["turn_id"], needs)


def test_reads_run_in_one_bundle(asking_dense: httpx2.Client) -> None:
    """Four independent reads overlap in one process, and the join runs there too."""
    turn = run(asking_dense, [*(wait_step(name, ms=300) for name in "abcd"), wait_step("e", *"abcd")])

    starts = [step["started_at"] for step in turn["steps"][:4]]
    ends = [step["finished_at"] for step in turn["steps"][:4]]
    assert len({step["worker"] for step in turn["steps"]}) == 1
    assert max(starts) < min(ends)


def test_a_step_of_a_bundle_is_pending_until_it_begins(asking_dense: httpx2.Client) -> None:
    """A worker holds the whole bundle, and the turn waits for the step that runs."""
    plan = {"steps": [wait_step("a", ms=600), wait_step("b", "a"), wait_step("c", "b")]}
    turn_id = post(asking_dense, plan=plan)["turn_id"]
    wait_for(lambda: _statuses(asking_dense, turn_id).get("a") == "running", 5)

    held = _statuses(asking_dense, turn_id)
    explained = asking_dense.get(f"/v1/turns/{turn_id}/explain").json()

    assert held == {"a": "running", "b": "pending", "c": "pending"}
    assert (explained["cause"], explained["step"]) == ("step_running", "a")
    assert [step["attempt"] for step in finished(asking_dense, turn_id)["steps"]] == [1, 1, 1]


def test_a_failure_ends_the_steps_that_need_it_and_no_others(asking_dense: httpx2.Client, log: Path) -> None:
    """Steps that were claimed with the failed one are given back and run where the ledger allows it."""
    needs = {"a": [], "bad": ["a"], "lost": ["bad"], "b": ["a"], "c": ["b"], "all": ["c", "lost"]}
    steps = [wait_step(name, *before, ms=20) for name, before in needs.items()]
    steps[1] |= {"tool": "sim.fail", "args": {"code": "NOT_FOUND"}}
    steps[5] |= {"on_need_error": "run"}

    turn = run(asking_dense, steps)

    assert {step["id"]: step["status"] for step in turn["steps"]} == {
        "a": "succeeded",
        "bad": "failed",
        "lost": "skipped",
        "b": "succeeded",
        "c": "succeeded",
        "all": "succeeded",
    }
    ended = [step for kind, step in sim_lines(log, turn["turn_id"]) if kind == "E" and step != "bad"]
    assert ended == ["a", "b", "c", "all"]


def test_events_of_a_bundle_are_in_order(asking_dense: httpx2.Client) -> None:
    """The ledger records the steps together at the end, with their events in the order in which they happened."""
    needs = SHAPES["N"]
    turn = run(asking_dense, [wait_step(step, *before) for step, before in needs.items()])

    told = [
        (kind, data["step"])
        for kind, data in events_of(asking_dense, turn["turn_id"])
        if kind in ("step.started", "step.finished")
    ]

    for step, before in needs.items():
        assert told.index(("step.started", step)) < told.index(("step.finished", step))
        assert all(told.index(("step.finished", need)) < told.index(("step.started", step)) for need in before)


def test_writes_and_other_queues_get_messages_of_their_own(asking_dense: httpx2.Client) -> None:
    """Steps with an effect are not bundled, and steps that need much CPU run on the process pool."""
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
    """The other steps of the bundle continue. After the approval, each step has run once and in order."""
    turn_id = waiting(asking_dense)

    decide(asking_dense, turn_id)

    assert finished(asking_dense, turn_id)["status"] == "succeeded"
    assert_ran_once_in_order(log, turn_id, NEEDS)


def _statuses(api: httpx2.Client, turn_id: str) -> dict[str, str]:
    return {step["id"]: step["status"] for step in api.get(f"/v1/turns/{turn_id}").json()["steps"]}
