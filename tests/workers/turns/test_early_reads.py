"""Reads in the planner's threads enter the ledger with their plan, each in its current state."""

from datetime import timedelta
from typing import Any

import pytest

from tests.factories import step
from tests.facts import wait_for
from tests.models.ledger.early import view
from tests.models.ledger.parking import row
from tests.models.ledger.stopping import view as turn_view
from tests.workers.turns.early_planner import Planner, kinds, slow
from turnloom.models.connections.database import snapshot, transaction
from turnloom.models.contracts.delay_causes import explain
from turnloom.models.contracts.plan import Plan
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.ledger import explanation, memory, turns
from turnloom.models.ledger.plans import Begun

LATER = {"tool": "sim.flaky", "args": {"fail_times": 1, "retry_after_s": 30}, "timeout_ms": 5_000}


def test_ended_reads_enter_the_ledger_with_their_plan(planner: Planner) -> None:
    """One commit records the plan, its steps with their results, their events in order, and what the reply needs."""
    steps = [step("a"), step("b", "a"), step("c", "a", "b")]
    planner.write(*steps)
    wait_for(lambda: planner.ended("a", "b", "c"))

    recorded = planner.record(*steps)

    assert recorded is not None
    assert (recorded.open_steps, recorded.claimed, recorded.fragments) == (0, [], [])
    assert view(planner.turn.id) == dict.fromkeys("abc", ("succeeded", 1, 1))
    written, happened = (
        [f"plan.step {name}" for name in "abc"],
        [f"step.{event} {name}" for name in "abc" for event in ("started", "finished")],
    )
    assert kinds(planner) == [*written, *happened, "plan.ready"]
    assert recorded.material is not None
    assert [one.result["ms"] for one in recorded.material.steps] == [1, 1, 1]
    assert turn_view(planner.turn.id).status == "responding"


def test_a_running_read_continues_under_a_lease(planner: Planner) -> None:
    """The step is recorded as running. A step that needs it is claimed only when it has ended."""
    steps = [slow("a"), step("b", "a"), step("cpu", "b", tool="sim.burn", args={"ms": 1})]
    planner.write(*steps[:2]).write(steps[2], early=False, first=2)

    recorded = planner.record(*steps)
    running = row(planner.turn.id, "a")
    planner.gate.set()
    planner.go_on(recorded)

    assert (running.status, running.worker, running.lease_until is not None) == ("running", "planner/1", True)
    assert recorded is not None
    assert recorded.open_steps == 3
    assert {name: status for name, (status, _, _) in view(planner.turn.id).items()} == {
        "a": "succeeded",
        "b": "succeeded",
        "cpu": "pending",
    }
    happened = [kind for kind in kinds(planner) if kind.endswith((" a", " b"))]
    assert happened == [
        "plan.step a",
        "plan.step b",
        "step.started a",
        "step.finished a",
        "step.started b",
        "step.finished b",
    ]


def test_a_slow_read_is_announced_while_the_plan_is_written(planner: Planner) -> None:
    """Events show that the read was written, that it runs and how it ends, while the model writes nothing more."""
    planner.write(slow("a"))
    wait_for(lambda: kinds(planner) == ["plan.step a", "step.started a"])
    running = view(planner.turn.id)
    planner.gate.set()
    wait_for(lambda: kinds(planner)[2:] == ["step.finished a"])

    recorded = planner.record(slow("a"), step("b", "a"))

    assert running == {"a": ("running", 1, 0)}
    assert recorded is not None
    assert (recorded.open_steps, [lane.step and lane.step.inputs for lane in recorded.claimed]) == (1, [{}])
    assert view(planner.turn.id) == {"a": ("succeeded", 1, 1), "b": ("running", 1, 1)}
    assert kinds(planner)[3:] == ["plan.ready", "step.started b"]


@pytest.mark.parametrize("steps", [[], [step("b")], [step("a", args={"ms": 2}), slow("b")]])
def test_a_read_that_is_in_no_plan_is_dropped(planner: Planner, steps: list[dict[str, Any]]) -> None:
    """A different plan begins without the earlier reads. It may use an id again for another call."""
    planner.write(step("a"), slow("b"))
    wait_for(lambda: planner.ended("a"))

    recorded = planner.record(*steps)
    planner.gate.set()

    assert recorded is not None
    assert recorded.open_steps == len(steps)
    steps_now = view(planner.turn.id)
    kept = {step["id"] for step in steps}
    assert {name: status for name, (status, _, _) in steps_now.items() if name not in kept} == {
        name: status for name, status in (("a", "succeeded"), ("b", "cancelled")) if name not in kept
    }
    assert [steps_now[name][1:] for name in sorted(kept)] == [(2, 1) for _ in kept]
    happened = [kind for kind in kinds(planner) if kind.startswith("step")][:4]
    assert sorted(happened) == ["step.finished a", "step.finished b", "step.started a", "step.started b"]


def test_the_reads_of_a_refused_plan_are_announced_and_cancelled(planner: Planner) -> None:
    """The step is cancelled before the repair is asked for. If it ends late, that is ignored."""
    planner.write(slow("a"))

    planner.reads.drop()
    planner.gate.set()

    assert view(planner.turn.id) == {"a": ("cancelled", 1, 0)}
    assert kinds(planner) == ["plan.step a", "step.started a", "step.finished a"]
    assert planner.reads.held_by(Plan(steps=[])).begun == Begun()


def test_no_read_begins_that_needs_more_than_this_process(planner: Planner) -> None:
    """A step waits if it needs its own process, exceeds the cap, or needs a step that waits for the plan."""
    steps = [
        step("cpu", tool="sim.burn", args={"ms": 1}),
        step("after", "cpu"),
        slow("a"),
        slow("b"),
        slow("c"),
        step("d", "c"),
    ]
    planner.plans_next(planner.turn, 2)
    planner.write(*steps)
    begun = set(planner.reads._calls)

    recorded = planner.record(*steps, cap=2)
    planner.gate.set()

    assert begun == {"a", "b"}
    assert recorded is not None
    assert (recorded.open_steps, recorded.claimed, recorded.fragments) == (6, [], [])
    assert [name for name, (status, _, _) in view(planner.turn.id).items() if status == "running"] == ["a", "b"]


def test_a_read_may_refer_to_results_of_earlier_revisions(planner: Planner) -> None:
    """The planner supplies the results, as the ledger would."""
    done = StepResult(id="old", tool="sim.wait", args={}, status="succeeded", result={"ms": 7})
    planner.plans_next(planner.turn, None, done)
    raw = step("new", tool="sim.echo", args={"value": {"$from": "old.ms"}})
    planner.write(raw)
    wait_for(lambda: planner.ended("new"))

    held = planner.reads.held_by(Plan.model_validate({"steps": [raw]}))

    assert [one["result"] for one in held.begun.steps] == [{"value": 7}]


def test_a_failed_read_ends_the_steps_that_need_it(planner: Planner) -> None:
    """The ledger decides this when the plan is recorded."""
    steps = [step("a", tool="sim.fail", args={"code": "NOT_FOUND"}), step("b", "a"), step("c")]
    planner.write(*steps)
    wait_for(lambda: planner.ended("a", "c"))

    recorded = planner.record(*steps)

    assert recorded is not None
    assert {name: status for name, (status, _, _) in view(planner.turn.id).items()} == {
        "a": "failed",
        "b": "skipped",
        "c": "succeeded",
    }


def test_a_read_that_must_wait_is_parked_with_the_plan(planner: Planner) -> None:
    """Until it has a plan, the read is shown as running, because it has no own fence. Then `explain` names its time."""
    steps = [{"id": "a", "needs": [], **LATER}, step("b", "a")]
    planner.write(steps[0])
    wait_for(lambda: kinds(planner) == ["plan.step a", "step.started a"])
    before = row(planner.turn.id, "a").status

    recorded = planner.record(*steps)
    planner.go_on(recorded)

    parked = row(planner.turn.id, "a")
    assert (before, parked.status, parked.parked, parked.not_before is not None) == ("running", "pending", 1, True)
    assert kinds(planner)[2:] == ["plan.ready", "step.retry a"]
    with snapshot() as db:
        turn = turns.get(db, planner.turn.id)
        assert turn is not None
        assert explain(explanation.gather(db, turn, lease=timedelta(seconds=6)), {}).step == "a"


def test_a_result_is_remembered_with_its_plan(planner: Planner) -> None:
    """An early read's result is memoised like that of any other step."""
    raw = step("a", tool="sim.kept", args={"ms": 1})
    planner.write(raw)
    wait_for(lambda: planner.ended("a"))
    planner.record(raw)

    with transaction() as db:
        remembered = memory.of_conversation(db, planner.turn.tenant_id, planner.turn.conversation_id)

    assert [(entry.tool, entry.step_id, entry.holds) for entry in remembered] == [("sim.kept", "a", True)]
