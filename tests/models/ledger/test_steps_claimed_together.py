"""Steps that are claimed together run ahead of the ledger. They are recorded afterwards or given back."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.factories import REGISTRY, claim_turn, make_tenant, open_turn, running_turn, step
from tests.models.ledger.early import told
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.plan import FinalStepStatus, Plan
from turnloom.models.ledger import plans, recovery, steps, turns
from turnloom.models.ledger.plans import NewPlan, RecordedPlan
from turnloom.models.ledger.steps import (
    Advance,
    BegunStep,
    Capacity,
    ClaimedStep,
    FinishedStep,
    Handover,
    Holder,
    StepClaim,
)
from turnloom.models.tables.steps import StepRow
from turnloom.planner.plan.expressions import load_expression
from turnloom.workers.compiling import compile_plan, fragment_rows
from turnloom.workers.recovery import recompile

pytestmark = pytest.mark.usefixtures("database")

HOLDER = Holder("worker/1", 6_000)


def claim(turn_id: UUID, *lanes: Sequence[str], holder: Holder = HOLDER) -> StepClaim:
    with statement() as db:
        return steps.claim(db, turn_id, lanes, 1, holder)


def advance(turn_id: UUID, *finished: FinishedStep, **more: Any) -> Advance:
    with statement() as db:
        return steps.advance(db, turn_id, 1, Handover(finished, **more), Capacity("tools.io", 0), HOLDER)


def done(
    name: str,
    at: float = 0,
    *,
    began: float | None = None,
    ended: float | None = None,
    status: FinalStepStatus = "succeeded",
) -> FinishedStep:
    """Return a finished step; `began` and `ended` are milliseconds after `at`."""
    times = [None if ms is None else at + ms / 1000 for ms in (began, ended)]
    return FinishedStep(name, 1, status, {"ms": 1, "payload": None}, began_at=times[0], ended_at=times[1])


def waits(claimed: StepClaim) -> dict[str, list[str]]:
    return {lane.step.id: lane.step.waits for lane in claimed.lanes if lane.step}


def rows(turn_id: UUID) -> dict[str, StepRow]:
    with transaction() as db:
        return {row.id: row for row in steps.of_turn(db, turn_id)}


def diamond() -> UUID:
    return running_turn(step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")).id


LANES = (["a", "b", "d"], ["c"])


def test_reads_that_nobody_has_claimed_are_claimed_together() -> None:
    """Each names the others that it waits for. A waiting step has a lease and a fence, but no start."""
    turn_id = diamond()

    claimed = claim(turn_id, *LANES)

    assert waits(claimed) == {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    assert {(row.status, row.attempt, row.worker) for row in rows(turn_id).values()} == {("running", 1, "worker/1")}
    assert [name for name, row in rows(turn_id).items() if row.started_at] == ["a"]
    assert [event.data["step"] for event in claimed.events] == ["a"]


@pytest.mark.parametrize("other", ["claimed", "tried", "writes", "needs"])
def test_others_are_claimed_one_by_one(other: str) -> None:
    """This holds if a step was claimed or tried before, has an effect, or needs a step that runs elsewhere."""
    last = step("c", "b", tool="sim.write", args={"value": 1}) if other == "writes" else step("c", "b")
    first = step("b", "a", "x") if other == "needs" else step("b", "a")
    turn_id = running_turn(step("x"), step("a"), first, last).id
    if other in ("claimed", "tried"):
        claim(turn_id, ["a"])
    if other == "tried":
        with statement() as db:
            steps.advance(db, turn_id, 1, Handover(back=["a"]), Capacity("tools.io", 0), HOLDER)
            db.execute("UPDATE steps SET status = 'pending', started_at = NULL WHERE id = 'a'")

    claimed = claim(turn_id, ["a", "b", "c"])

    assert waits(claimed) == ({} if other == "claimed" else {"a": []})
    assert rows(turn_id)["b"].status == "pending"


def test_steps_that_ran_ahead_are_recorded_with_their_times() -> None:
    """In one commit, each start comes before its end, and no step starts before its needs have ended."""
    turn_id = diamond()
    at = claim(turn_id, *LANES).at

    after = advance(
        turn_id,
        done("a", at, ended=0.1),
        done("b", at, began=0.2, ended=0.3),
        done("c", at, began=0.2, ended=0.4),
        done("d", at, began=0.5, ended=0.6),
    )

    ran = rows(turn_id)
    assert after.respond is not None
    assert told(turn_id)[-8:] == [
        *("step.started a", "step.finished a", "step.started b", "step.started c", "step.finished b"),
        *("step.finished c", "step.started d", "step.finished d"),
    ]
    for name, needs in {"b": "a", "c": "a", "d": "bc"}.items():
        started, ended = ran[name].started_at, ran[name].finished_at
        assert started is not None
        assert ended is not None
        assert ran[name].ready_at == started <= ended
        assert all((ran[need].finished_at or ended) <= started for need in needs)


def test_the_start_of_a_step_that_still_runs_ahead_is_recorded() -> None:
    """The commit of the step that it waited for records it."""
    turn_id = diamond()
    at = claim(turn_id, *LANES).at

    after = advance(
        turn_id, done("a", at, ended=0.1), begun=[BegunStep("b", 1, at + 0.0002), BegunStep("c", 1, at + 0.0002)]
    )

    assert [(event.type, event.data["step"]) for event in after.events] == [
        *(("step.finished", "a"), ("step.started", "b"), ("step.started", "c"))
    ]
    assert [name for name, row in rows(turn_id).items() if row.started_at] == ["a", "b", "c"]


def test_what_waits_for_a_failed_step_is_given_back() -> None:
    """The ledger skips the steps that need it. The others go on one by one."""
    turn_id = running_turn(step("a"), step("b", "a"), step("c", "a", on_need_error="run"), step("d")).id
    claim(turn_id, ["a", "b"], ["c"], ["d"])

    after = advance(turn_id, done("a", status="failed"), back=["b", "c"], lanes=[["b"], ["c"]])

    assert {name: row.status for name, row in rows(turn_id).items()} == {
        "a": "failed",
        "b": "skipped",
        "c": "running",
        "d": "running",
    }
    assert [(lane.steps, lane.step and lane.step.attempt) for lane in after.claimed] == [(["c"], 2)]


def test_steps_can_be_given_back_when_nothing_has_finished() -> None:
    """This serves steps whose needs were parked. A step that has begun is kept."""
    turn_id = diamond()
    claim(turn_id, *LANES)

    after = advance(turn_id, back=["a", "b"])

    assert (after.fenced, after.events) == ([], [])
    assert {name: row.status for name, row in rows(turn_id).items() if row.status == "pending"} == {"b": "pending"}
    assert rows(turn_id)["a"].status == "running"


def test_a_lost_worker_loses_what_it_held_and_no_more() -> None:
    """The steps that it held run again under another fence. Late results record nothing."""
    turn_id = diamond()
    claim(turn_id, *LANES, holder=Holder("worker/1", 0))
    with transaction() as db:
        assert [lost.id for lost in recovery.find_lost(db, timedelta(0), (), 10)] == [turn_id]

    recompile(turn_id)
    late = advance(turn_id, done("a"), done("b", 1, began=1))

    assert sorted(late.fenced) == ["a", "b"]
    assert {(row.status, row.attempt) for row in rows(turn_id).values()} == {("pending", 1)}


def test_closing_a_turn_cancels_waiting_steps() -> None:
    """The event of a step that never started has neither an attempt nor a duration."""
    turn_id = diamond()
    claim(turn_id, *LANES)

    with statement() as db:
        db.execute("SELECT hot.close_turn(%s, 'cancelled', null, 6000)", (turn_id,))

    assert {row.status for row in rows(turn_id).values()} == {"cancelled"}
    with transaction() as db:
        turn = turns.get(db, turn_id)
        assert turn is not None
    ended = _ended(turn_id)
    assert "attempt" in ended["a"]
    assert not {"attempt", "duration_ms"} & set(ended["b"])


def test_the_planner_takes_its_share_as_it_records_the_plan() -> None:
    """It takes as many lanes as it has free slots, runs them under its name, and publishes the rest."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    names = "abcdef"
    raw = [*(step(name) for name in names), step("g", "a"), step("w", "a", tool="sim.write", args={"value": 1})]

    recorded = _record(turn.id, turn.attempt, raw, take=4)

    assert sorted(_claimed(recorded)) == ["a", "b", "c", "d", "g"]
    assert _claimed(recorded)["g"].waits == ["a"]
    assert [load_expression(each).queue for each in recorded.fragments] == ["tools.io"]  # type: ignore[union-attr]
    assert {name: row.status for name, row in rows(turn.id).items() if row.worker is None} == {
        "e": "pending",
        "f": "pending",
        "w": "pending",
    }


def _record(turn_id: UUID, attempt: int, raw: list[dict[str, Any]], take: int) -> RecordedPlan:
    plan = Plan.model_validate({"steps": raw})
    compiled = compile_plan(plan, REGISTRY, "dense")
    new = NewPlan(plan, "caller", {}, compiled.steps, fragment_rows(compiled.fragments), "dense", None)
    with statement() as db:
        recorded = plans.record(db, turn_id, attempt, new, Capacity("tools.io", take), HOLDER)
    assert recorded is not None
    return recorded


def _claimed(recorded: RecordedPlan) -> dict[str, ClaimedStep]:
    return {lane.step.id: lane.step for lane in recorded.claimed if lane.step}


def _ended(turn_id: UUID) -> dict[str, dict[str, Any]]:
    return {event.data["step"]: event.data for event in recorded_events(turn_id) if event.type == "step.finished"}
