"""Reads that are not claimed run under no fence, and one record of each counts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from tests.factories import running_turn, step
from tests.models.ledger.early import drop_early, planning_turn, record_over, start_early, told
from tests.models.ledger.parking import row
from tests.models.ledger.stopping import close, statuses
from turnloom.models.connections.database import statement
from turnloom.models.ledger import steps
from turnloom.models.ledger.steps import Advance, BegunStep, Capacity, FinishedStep, Handover, Holder, StepClaim
from turnloom.workers.recovery import recompile

pytestmark = pytest.mark.usefixtures("database")

HOLDER = Holder("worker/1", 6_000)
WRITE = step("w", "a", tool="sim.write", args={"value": 1})


def look(turn_id: UUID, *lanes: Sequence[str], generation: int = 1) -> StepClaim | None:
    with statement() as db:
        return steps.look(db, turn_id, lanes, generation)


def claim(turn_id: UUID, name: str, generation: int = 1) -> StepClaim:
    with statement() as db:
        return steps.claim(db, turn_id, [[name]], generation, Holder("worker/2", 6_000))


def advance(turn_id: UUID, *finished: FinishedStep, generation: int = 1, **more: Any) -> Advance:
    with statement() as db:
        return steps.advance(db, turn_id, generation, Handover(finished, **more), Capacity("tools.io", 0), HOLDER)


def done(name: str, at: float, *, attempt: int = 0, ms: int = 1) -> FinishedStep:
    """Return a finished step; `ms` is its result and its duration."""
    began = None if attempt else at
    return FinishedStep(name, attempt, "succeeded", {"ms": ms}, began_at=began, ended_at=at + ms / 1000)


def test_reads_are_looked_at_together_and_nobody_takes_them() -> None:
    """Each names the others that it waits for. In the ledger all stay pending."""
    turn_id = running_turn(step("a"), step("b", "a")).id

    looked = look(turn_id, ["a", "b"])

    assert looked is not None
    found = [lane.step for lane in looked.lanes if lane.step]
    assert [(each.id, each.attempt, each.waits) for each in found] == [("a", 0, []), ("b", 0, ["a"])]
    assert (statuses(turn_id), looked.events) == ({"a": "pending", "b": "pending"}, [])


def test_before_a_write_the_next_read_of_the_lane_is_looked_at() -> None:
    """The lane goes on with the write when the read is recorded."""
    turn_id = running_turn(step("a"), WRITE).id

    looked = look(turn_id, ["a", "w"])

    assert looked is not None
    assert [(lane.steps, lane.step and lane.step.id) for lane in looked.lanes] == [(["a", "w"], "a")]


@pytest.mark.parametrize("case", ["writes", "waits", "claimed", "stale", "closed", "recovered"])
def test_all_else_is_to_be_claimed(case: str) -> None:
    """Steps with an effect, held steps, and steps that cannot run yet or may have killed a worker are claimed."""
    turn_id = running_turn(step("a"), WRITE, step("x")).id
    if case == "claimed":
        claim(turn_id, "x")
    if case == "closed":
        close(turn_id)
    if case == "recovered":
        recompile(turn_id)

    lane = {"writes": ["w"], "waits": ["w"]}.get(case, ["x"])
    assert look(turn_id, lane, generation=2 if case in ("stale", "recovered") else 1) is None


def test_a_lane_at_its_end_is_done() -> None:
    """The message that brings it counts as done."""
    turn_id = running_turn(step("a"), step("b")).id
    claim(turn_id, "a")
    advance(turn_id, done("a", 0, attempt=1))

    looked = look(turn_id, ["a"])

    assert looked is not None
    assert (looked.verdict, looked.lanes) == ("done", [])


def test_a_read_that_was_looked_at_is_recorded_in_one_commit() -> None:
    """The record has the first attempt and its times. Readers get its start and its end together."""
    turn_id = running_turn(step("a"), step("b", "a")).id
    looked = look(turn_id, ["a"])
    assert looked is not None

    after = advance(turn_id, done("a", looked.at, ms=5))

    ran = row(turn_id, "a")
    assert ran.started_at is not None
    assert ran.finished_at is not None
    assert (ran.status, ran.attempt, ran.worker, ran.lease_until) == ("succeeded", 1, "worker/1", None)
    assert (ran.finished_at - ran.started_at).total_seconds() == pytest.approx(0.005, abs=1e-4)
    assert (after.fenced, told(turn_id)[-2:]) == ([], ["step.started a", "step.finished a"])


def test_the_result_of_an_unclaimed_read_is_remembered() -> None:
    """The memory has it, as after a claim."""
    turn_id = running_turn(step("a"), step("b", "a")).id
    looked = look(turn_id, ["a"])
    assert looked is not None
    call = {"tool": "sim.wait", "args": {"ms": 1}, "for_s": 60.0}

    advance(turn_id, replace(done("a", looked.at), input_hash="h", remember=call))

    with statement() as db:
        assert db.execute("SELECT tool, step_id FROM memory").fetchall() == [("sim.wait", "a")]


def test_a_read_that_lasts_is_claimed_while_it_runs() -> None:
    """From then on it has a lease and a fence, and others are refused."""
    turn_id = running_turn(step("a"), step("b", "a")).id
    looked = look(turn_id, ["a"])
    assert looked is not None

    advance(turn_id, begun=[BegunStep("a", 0, looked.at)])
    late = (look(turn_id, ["a"]), claim(turn_id, "a").verdict, advance(turn_id, done("a", looked.at)).fenced)
    after = advance(turn_id, done("a", looked.at, attempt=1))

    assert late == (None, "busy", ["a"])
    assert (after.fenced, row(turn_id, "a").attempt) == ([], 1)
    assert told(turn_id)[-2:] == ["step.started a", "step.finished a"]


def test_one_of_two_copies_records() -> None:
    """The other learns that another process has the step, unless the step is final."""
    turn_id = running_turn(step("a"), step("b", "a")).id
    looked = look(turn_id, ["a"])
    assert looked is not None
    claim(turn_id, "a")

    fenced = advance(turn_id, done("a", looked.at, ms=1))
    unclaimed = advance(turn_id, begun=[BegunStep("a", 0, looked.at)])
    first = advance(turn_id, done("a", looked.at, attempt=1, ms=2))
    late = advance(turn_id, done("a", looked.at, ms=3))

    assert [(each.fenced, each.are_elsewhere) for each in (fenced, unclaimed, first, late)] == [
        *((["a"], True), (["a"], True), ([], False), (["a"], False))
    ]
    assert row(turn_id, "a").result == {"ms": 2}


def test_a_step_is_recorded_with_the_one_it_ran_after_or_not_at_all() -> None:
    """It may have used a result that is not the recorded one."""
    turn_id = running_turn(step("a"), step("b", "a"), step("c", "b")).id
    looked = look(turn_id, ["a", "b"])
    assert looked is not None
    advance(turn_id, done("a", looked.at, ms=1))

    second = advance(turn_id, done("a", looked.at, ms=2), done("b", looked.at, ms=2))

    assert (sorted(second.fenced), second.are_elsewhere) == (["a", "b"], True)
    assert (row(turn_id, "a").result, row(turn_id, "b").status) == ({"ms": 1}, "pending")


def test_a_read_of_another_generation_is_not_recorded() -> None:
    """By now the id may belong to another call. Only that call's outcome counts, claimed or not."""
    turn = planning_turn()
    start_early(turn, step("a", args={"ms": 1}))
    looked = look(turn.id, ["a"])
    assert looked is not None
    drop_early(turn)
    record_over(turn, set(), step("a", args={"ms": 2}), step("b", "a"))

    pending = advance(turn.id, done("a", looked.at, ms=1))
    claim(turn.id, "a", generation=2)
    running = advance(turn.id, done("a", looked.at, ms=1))
    after = advance(turn.id, done("a", looked.at, attempt=1, ms=2), generation=2)

    assert [each.fenced for each in (pending, running, after)] == [["a"], ["a"], []]
    assert row(turn.id, "a").result == {"ms": 2}
