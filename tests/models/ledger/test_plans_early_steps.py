"""A step that starts before its plan is complete runs once. A plan keeps all its early steps or none."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, finish_turn, step
from tests.models.ledger.early import drop_early, lanes, planning_turn, record_over, start_early, told, view
from tests.models.ledger.stopping import HOLDER, close, end
from tests.models.ledger.stopping import view as turn_view
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import approvals, recovery, steps
from turnloom.models.ledger.steps import Advance, Capacity, FinishedStep, Handover, StepClaim

pytestmark = pytest.mark.usefixtures("database")


def claim(turn_id: UUID, name: str, generation: int = 1) -> StepClaim:
    with statement() as db:
        return steps.claim(db, turn_id, [[name]], generation, HOLDER)


def advance(turn_id: UUID, name: str, attempt: int = 1, *, failed: bool = False, generation: int = 1) -> Advance:
    error = {"code": "INTERNAL_ERROR", "message": "broke"} if failed else None
    finished = [FinishedStep(name, attempt, "failed" if failed else "succeeded", result={"ms": 1}, error=error)]
    with statement() as db:
        return steps.advance(db, turn_id, generation, Handover(finished), Capacity("tools.io", 0, mixed=True), HOLDER)


def lose(turn_id: UUID) -> None:
    with transaction() as db:
        for table, key in (("steps", "turn_id"), ("turns", "id")):
            db.execute(text(f"UPDATE {table} SET lease_until = '-infinity' WHERE {key} = :turn"), {"turn": turn_id})


def lost() -> list[tuple[UUID, str]]:
    with transaction() as db:
        return [(turn.id, turn.kind) for turn in recovery.find_lost(db, timedelta(seconds=60), (), 100)]


def test_a_step_runs_while_the_plan_is_written_and_not_again() -> None:
    """The plan is recorded over the ended step. The planner publishes the steps that it made ready."""
    turn = planning_turn()
    started = start_early(turn, step("a"))
    claim(turn.id, "a")
    early = advance(turn.id, "a")

    recorded = record_over(turn, {"a"}, step("a"), step("b", "a"), step("w", "b", tool="sim.write", args={"value": 1}))

    assert started is not None
    assert (started.ready, early.fenced, early.respond) == ([0], [], None)
    assert recorded is not None
    assert (recorded.generation, recorded.open_steps, lanes(recorded)) == (1, 2, [["b"]])
    assert view(turn.id) == {"a": ("succeeded", 1, 1), "b": ("pending", 0, 1), "w": ("pending", 0, 1)}
    assert claim(turn.id, "a").verdict == "done"
    assert told(turn.id)[2:] == ["plan.step a", "step.started a", "step.finished a", "plan.ready"]


def test_a_running_early_step_releases_its_followers_when_it_ends() -> None:
    """A message sent before the plan was complete stays valid, and the end of its step is an ordinary end."""
    turn = planning_turn()
    for number, name in enumerate("ab"):
        start_early(turn, step(name), first=number)
    claim(turn.id, "a")

    recorded = record_over(turn, {"a", "b"}, step("a"), step("b"), step("c", "a", "b"))
    claim(turn.id, "b")
    first, second = advance(turn.id, "a"), advance(turn.id, "b")

    assert recorded is not None
    assert (recorded.open_steps, recorded.fragments) == (3, [])
    assert [fragment["lane"] for fragment in first.fragments + second.fragments] == [["c"]]
    assert claim(turn.id, "c").verdict == "claimed"
    assert advance(turn.id, "c").respond == turn.attempt + 1


def test_early_steps_follow_each_other() -> None:
    """The end of a step releases the one that needs it while the plan is still being written. No reply is due yet."""
    turn = planning_turn()
    ready = [start_early(turn, step("a")), start_early(turn, step("b", "a"), first=1)]

    too_soon = claim(turn.id, "b").verdict
    claim(turn.id, "a")
    after = advance(turn.id, "a")
    claim(turn.id, "b")
    last = advance(turn.id, "b")

    assert [start and start.ready for start in ready] == [[0], []]
    assert too_soon == "early"
    assert [fragment["lane"] for fragment in after.fragments] == [["b"]]
    assert (last.respond, turn_view(turn.id).status, turn_view(turn.id).open_steps) == (None, "planning", 0)


def test_steps_that_start_together_follow_each_other() -> None:
    """The planner publishes those that wait for nothing. Those that need a failed step are skipped."""
    turn = planning_turn()
    start_early(turn, step("x"))
    claim(turn.id, "x")
    advance(turn.id, "x", failed=True)

    started = start_early(turn, step("a"), step("b", "a"), step("y", "x"), first=1)

    assert started is not None
    assert started.ready == [1]
    assert [(event.type, event.data["step"]) for event in started.events] == [
        *(("plan.step", "a"), ("plan.step", "b"), ("plan.step", "y"), ("step.finished", "y"))
    ]
    assert {name: status for name, (status, _, _) in view(turn.id).items()} == {
        "x": "failed",
        "a": "pending",
        "b": "pending",
        "y": "skipped",
    }
    assert turn_view(turn.id).open_steps == 2


def test_a_plan_whose_steps_have_all_ended_is_the_planners_to_answer() -> None:
    """No last step will come that could hand over the reply."""
    turn = planning_turn()
    start_early(turn, step("a"))
    claim(turn.id, "a")
    advance(turn.id, "a")

    recorded = record_over(turn, {"a"}, step("a"))

    assert recorded is not None
    assert (recorded.open_steps, turn_view(turn.id).status) == (0, "responding")
    assert finish_turn(turn) is not None


@pytest.mark.parametrize(
    ("on_error", "expected"),
    [
        ("best_effort", {"a": "failed", "b": "skipped", "c": "skipped", "d": "pending"}),
        ("fail_fast", {"a": "failed", "b": "skipped", "c": "cancelled", "d": "cancelled"}),
    ],
)
def test_an_early_failure_ends_the_steps_that_need_it(on_error: str, expected: dict[str, str]) -> None:
    """The steps after a failure end as `on_error` says, whether they start early or with the plan."""
    turn = planning_turn(on_error=on_error)
    start_early(turn, step("a"))
    claim(turn.id, "a")
    advance(turn.id, "a", failed=True)
    skipped = start_early(turn, step("b", "a"), first=1)

    recorded = record_over(turn, {"a", "b"}, step("a"), step("b", "a"), step("c", "b"), step("d"))

    assert skipped is not None
    assert not skipped.ready
    assert {name: status for name, (status, _, _) in view(turn.id).items()} == expected
    assert recorded is not None
    assert recorded.open_steps == turn_view(turn.id).open_steps == list(expected.values()).count("pending")


def test_a_refused_plan_cancels_what_it_had_started() -> None:
    """None of its steps is started or recorded any more, and readers see that they were cancelled."""
    turn = planning_turn()
    for number, name in enumerate("abc"):
        start_early(turn, step(name), first=number)
    for name in "ab":
        claim(turn.id, name)
    advance(turn.id, "a")

    dropped = drop_early(turn)

    assert [(event.type, event.data["step"]) for event in dropped or ()] == [
        ("step.finished", "b"),
        ("step.finished", "c"),
    ]
    assert view(turn.id) == {"a": ("succeeded", 1, 0), "b": ("cancelled", 1, 0), "c": ("cancelled", 0, 0)}
    assert advance(turn.id, "b").fenced == ["b"]
    assert claim(turn.id, "c").verdict == "stale"


def test_an_id_may_come_again_with_another_call() -> None:
    """The repaired plan's step runs like a new one. The process that ran the old one can record nothing."""
    turn = planning_turn()
    start_early(turn, step("a", args={"ms": 1}))
    claim(turn.id, "a")
    drop_early(turn)

    recorded = record_over(turn, set(), step("a", args={"ms": 2}))
    before = advance(turn.id, "a", attempt=1)
    again = claim(turn.id, "a", generation=2)
    meanwhile = advance(turn.id, "a", attempt=1)
    after = advance(turn.id, "a", attempt=2, generation=2)

    assert recorded is not None
    assert (recorded.generation, lanes(recorded)) == (2, [["a"]])
    assert again.lanes[0].step is not None
    assert (again.lanes[0].step.attempt, again.lanes[0].step.args) == (2, {"ms": 2})
    assert (before.fenced, meanwhile.fenced, after.fenced) == (["a"], ["a"], [])
    assert after.respond is not None


def test_a_failure_of_a_refused_plan_does_not_stop_the_next() -> None:
    """Only a failed step of the recorded plan stops it."""
    turn = planning_turn(on_error="fail_fast")
    start_early(turn, step("a"))
    claim(turn.id, "a")
    advance(turn.id, "a", failed=True)
    drop_early(turn)

    recorded = record_over(turn, set(), step("b"), step("c", "b"))

    assert recorded is not None
    assert (recorded.open_steps, lanes(recorded)) == (2, [["b", "c"]])


def test_a_lost_planner_takes_its_early_steps_with_it() -> None:
    """The next claim cancels them in the same commit. The late planner can neither start nor drop any."""
    turn = planning_turn()
    start_early(turn, step("a"))
    start_early(turn, step("b"), first=1)
    claim(turn.id, "a")
    lose(turn.id)
    found = lost()
    with statement() as db:
        recovery.requeue(db, turn.id)
    in_between = (lost(), claim(turn.id, "b").verdict)

    second = claim_turn(turn.id)

    assert (found, in_between) == ([(turn.id, "plan")], ([], "closed"))
    assert second is not None
    assert second.generation == 2
    assert (start_early(turn, step("c"), first=2), drop_early(turn)) == (None, None)
    assert view(turn.id) == {"a": ("cancelled", 1, 0), "b": ("cancelled", 0, 0)}
    assert told(turn.id)[-3:] == ["step.finished a", "step.finished b", "plan.started"]
    assert start_early(second, step("a", args={"ms": 2})) is not None
    assert claim(turn.id, "a").verdict == "stale"
    assert claim(turn.id, "a", generation=2).verdict == "claimed"
    assert turn_view(turn.id).open_steps == 1


def test_a_lost_worker_is_found_when_the_plan_is_recorded() -> None:
    """Before that, recovery neither takes the step back nor gives it up."""
    turn = planning_turn()
    start_early(turn, step("a"))
    claim(turn.id, "a")
    with transaction() as db:
        db.execute(text("UPDATE steps SET lease_until = '-infinity'"))
        before = recovery.find_lost(db, timedelta(seconds=60), (), 100)

    record_over(turn, {"a"}, step("a"), step("b", "a"))

    assert before == []
    assert lost() == [(turn.id, "steps")]
    with transaction() as db:
        assert recovery.reclaim(db, turn.id, 5, 6_000) is not None
    assert view(turn.id) == {"a": ("pending", 1, 1), "b": ("pending", 0, 1)}


def test_an_early_step_may_be_tried_again_later() -> None:
    """It is parked like any other step, and is a step of the plan that waits for its time."""
    turn = planning_turn()
    start_early(turn, step("a"))
    claim(turn.id, "a")

    with statement() as db:
        failed = FinishedStep("a", 1, "failed", error={"code": "RATE_LIMITED", "message": "later"})
        parked = approvals.delay(db, turn.id, failed, [timedelta(seconds=30)], 3)
    recorded = record_over(turn, {"a"}, step("a"), step("b", "a"))

    assert parked is not None
    assert recorded is not None
    assert (recorded.open_steps, recorded.fragments, lost()) == (2, [], [])
    assert claim(turn.id, "a").verdict == "early"


def test_a_turn_that_ends_without_a_plan_leaves_nothing_running() -> None:
    """The apology for a refused plan cancels its early steps and is the last event."""
    turn = planning_turn()
    start_early(turn, step("a"))
    claim(turn.id, "a")

    finish_turn(turn)

    assert view(turn.id) == {"a": ("cancelled", 1, 0)}
    assert turn_view(turn.id).open_steps == 0
    assert told(turn.id)[-3:] == ["step.finished a", "reply.done", "turn.succeeded"]
    assert advance(turn.id, "a").fenced == ["a"]
    assert claim(turn.id, "a").verdict == "done"


def test_closing_a_turn_stops_what_was_started_for_it() -> None:
    """The planner learns of it at its next step; a process that runs a step learns of it at the step's end."""
    turn = planning_turn()
    start_early(turn, step("a"))
    claim(turn.id, "a")

    closed = close(turn.id)

    assert closed is not None
    assert (view(turn.id)["a"][0], turn_view(turn.id).open_steps) == ("cancelled", 0)
    assert (start_early(turn, step("b"), first=1), record_over(turn, {"a"}, step("a"))) == (None, None)
    assert advance(turn.id, "a").fenced == ["a"]
    assert end(turn.id, closed.respond or 0) is not None
