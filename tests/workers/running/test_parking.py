"""A worker lets go of a call that must wait, and another worker makes it at its time."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

import pytest
from celery.exceptions import Ignore
from sqlalchemy import text

from tests.factories import queue_length, running_turn, step
from tests.models.ledger.parking import APPROVED, change, decide, row
from tests.models.ledger.stopping import statuses, view
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import steps
from turnloom.models.ledger.steps import Holder
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool
from turnloom.workers.execution import Executor
from turnloom.workers.recovery import recompile, resume, sweep
from turnloom.workers.running.parking import args_hash
from turnloom.workers.upkeep.heartbeat import leases

pytestmark = pytest.mark.usefixtures("database", "tools")

HOLDER = Holder("worker/1", 6_000)
LATER = step("d", tool="sim.flaky", args={"fail_times": 1, "retry_after_s": 30}, timeout_ms=5_000)


def run(turn_id: UUID, *lanes: list[str], generation: int = 1, slots: int = 1) -> bool:
    """Run lanes as a worker would. Return False if their message must not count as done."""
    with statement() as db:
        claimed = steps.claim(db, turn_id, lanes, generation, HOLDER)
    assert claimed.turn is not None
    try:
        Executor(turn_id, claimed.turn, generation, "tools.cpu", HOLDER).run(claimed.lanes, slots, claimed.at)
    except Ignore:
        return False
    return True


def writes() -> int:
    with transaction() as db:
        return cast("int", db.scalar(text("SELECT count(*) FROM sim_writes")))


def kinds(turn_id: UUID) -> list[str]:
    return [event.type for event in recorded_events(turn_id)]


def let_its_time_come() -> None:
    change("UPDATE steps SET not_before = clock_timestamp() - interval '1 ms' WHERE not_before IS NOT NULL")
    change("UPDATE turns SET compiled_at = compiled_at - interval '1 s'")


def test_a_call_waits_for_approval_and_is_made_once() -> None:
    """The worker lets go of the call without an outcome. After the decision another makes it; the lane continues."""
    turn = running_turn(APPROVED, step("after", "w"))

    counted = run(turn.id, ["w", "after"])
    waited = (statuses(turn.id), view(turn.id).status, writes(), set(leases._steps))
    decide(turn.id)
    resume(str(turn.id))

    assert not counted
    assert waited == ({"w": "waiting_approval", "after": "pending"}, "waiting_approval", 0, set())
    assert queue_length("tools.io") == 1
    assert run(turn.id, ["w", "after"], generation=2)
    assert (statuses(turn.id), writes()) == ({"w": "succeeded", "after": "succeeded"}, 1)
    assert kinds(turn.id)[3:6] == ["step.started", "approval.requested", "step.started"]


def test_the_approver_sees_resolved_references() -> None:
    """The arguments shown are those of the call, and the hash is that of these arguments."""
    refers = step("w", tool="sim.approve", args={"value": {"$from": "a.value"}})
    turn = running_turn(step("a", tool="sim.echo", args={"value": [1]}), refers)

    run(turn.id, ["a", "w"])

    asked = row(turn.id).approval or {}
    assert (asked["args"], asked["args_hash"]) == ({"value": [1]}, args_hash("sim.approve", {"value": [1]}))


def test_other_arguments_wait_again() -> None:
    """An approval holds for the arguments that were shown. A call with others is not made."""
    turn = running_turn(APPROVED)
    run(turn.id, ["w"])
    decide(turn.id)
    change("""UPDATE steps SET args = '{"value": 8}'""")

    counted = run(turn.id, ["w"])

    assert (counted, statuses(turn.id), writes()) == (False, {"w": "waiting_approval"}, 0)
    assert (row(turn.id).approval or {})["args"] == {"value": 8}


def test_nobody_is_asked_about_arguments_that_the_tool_refuses() -> None:
    """The step fails at once."""
    turn = running_turn(step("w", tool="sim.approve", args={"wrong": 1}))

    assert run(turn.id, ["w"])

    assert ((row(turn.id).error or {})["code"], row(turn.id).approval) == ("BAD_ARGS", None)


def test_a_worker_lost_before_it_asked_has_done_nothing(tools: dict[str, Tool]) -> None:
    """Without approval the lost call was not made. So the step waits, even if the tool has no `reconcile`."""
    tools["sim.approve"] = replace(tools["sim.approve"], reconcile=None)
    turn = running_turn(APPROVED)
    with statement() as db:
        steps.claim(db, turn.id, [["w"]], 1, HOLDER)
    change("UPDATE steps SET lease_until = '-infinity'")
    recompile(turn.id)

    run(turn.id, ["w"], generation=2)
    decide(turn.id)

    assert run(turn.id, ["w"], generation=2)
    assert (statuses(turn.id), writes()) == ({"w": "succeeded"}, 1)


def test_a_worker_that_cannot_ask_lets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """While Postgres is down the call is not made. The lease runs out, and the next worker asks."""
    turn = running_turn(APPROVED)
    with monkeypatch.context() as out:
        out.setattr("turnloom.workers.running.parking.statement", _out)
        counted = run(turn.id, ["w"])
    held = set(leases._steps)
    change("UPDATE steps SET lease_until = '-infinity'")
    recompile(turn.id)

    assert (counted, held) == (False, set())
    assert not run(turn.id, ["w"], generation=2)
    assert (statuses(turn.id), writes()) == ({"w": "waiting_approval"}, 0)


def _out() -> Any:
    raise Unavailable("Postgres does not answer")


def test_the_sweep_rejects_a_call_that_nobody_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is rejected and the turn's reply is due. A second sweep finds nothing."""
    monkeypatch.setenv("TURNLOOM_APPROVAL_TIMEOUT_S", "0.001")
    settings.cache_clear()
    turn = running_turn(APPROVED)
    run(turn.id, ["w"])

    sweep()
    sweep()

    assert (statuses(turn.id), view(turn.id).status) == ({"w": "failed"}, "responding")
    assert (queue_length("respond"), queue_length("maintenance")) == (1, 0)


def test_a_call_that_names_a_time_is_made_again_at_that_time() -> None:
    """The worker does not wait. Recovery sends the step when the time has come."""
    turn = running_turn(LATER, step("after", "d"))

    counted = run(turn.id, ["d", "after"])
    sweep()
    sent = queue_length("tools.io")
    let_its_time_come()
    recompile(turn.id)

    assert (counted, sent, queue_length("tools.io")) == (False, 0, 1)
    assert run(turn.id, ["d", "after"], generation=2)
    assert statuses(turn.id) == {"d": "succeeded", "after": "succeeded"}
    assert kinds(turn.id).count("step.retry") == 1


@pytest.mark.parametrize("timeout_ms", [50, 70_000])
def test_a_time_after_the_deadline_is_a_failure(timeout_ms: int) -> None:
    """The pause may exceed the step's own time or the turn's. The error names the time."""
    late = {**LATER, "args": {"fail_times": 1, "retry_after_s": 80}, "timeout_ms": timeout_ms}
    turn = running_turn(late)

    assert run(turn.id, ["d"])

    assert (row(turn.id, "d").error or {})["retry_at"]
    assert statuses(turn.id) == {"d": "failed"}


def test_a_write_that_did_nothing_is_made_again(tools: dict[str, Tool]) -> None:
    """The call has done nothing, so the backend is not asked. The write takes effect once."""
    write = tools["sim.write"]
    tools["sim.write"] = replace(write, call=_fails_first(write.call), reconcile=None)
    turn = running_turn(step("w", tool="sim.write", args={"value": 1}, timeout_ms=5_000))

    counted = run(turn.id, ["w"])
    let_its_time_come()

    assert (counted, writes()) == (False, 0)
    assert run(turn.id, ["w"])
    assert (statuses(turn.id), row(turn.id).attempt, writes()) == ({"w": "succeeded"}, 2, 1)


def _fails_first(call: Callable[..., Any]) -> Callable[..., Any]:
    def write(query: Any, context: ToolContext) -> Any:
        if context.attempt == 1:
            raise Unavailable("slow down", code="RATE_LIMITED", retry_after_s=10)
        return call(query, context)

    return write


def test_lanes_beside_a_parked_one_continue() -> None:
    """The other lanes of the same task are recorded, but the message does not count as done."""
    turn = running_turn(LATER, step("a"), step("b", "a"), max_steps=1)

    counted = run(turn.id, ["d"], ["a"], slots=4)

    assert not counted
    assert statuses(turn.id)["a"] == "succeeded"
    assert (statuses(turn.id)["d"], row(turn.id, "d").error is not None) == ("pending", True)


def test_a_lane_claimed_with_a_record_is_parked_alone() -> None:
    """The message brought another lane, which is done, so the message counts as done."""
    turn = running_turn(step("a", tool="sim.burn", args={"ms": 1}), {**APPROVED, "needs": ["a"]}, max_steps=1)
    change("UPDATE fragments SET queue = 'tools.cpu'")

    assert run(turn.id, ["a"])

    assert statuses(turn.id) == {"a": "succeeded", "w": "waiting_approval"}


def test_a_parked_step_of_a_capped_turn_frees_its_place() -> None:
    """The next step is sent at once and does not wait for recovery."""
    turn = running_turn(LATER, step("a"), cap=1)

    assert not run(turn.id, ["d"])

    assert queue_length("maintenance") == 1
    resume(str(turn.id))
    assert view(turn.id).recoveries == 0
    assert run(turn.id, ["a"], generation=2)
