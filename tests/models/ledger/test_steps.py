"""Steps are claimed once and recorded under their fence; each commit also claims the steps that became ready."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from tests.factories import running_turn, step
from tests.models.ledger.parking import change
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.plan import FinalStepStatus
from turnloom.models.ledger import recovery, steps, turns
from turnloom.models.ledger.steps import Advance, Capacity, FinishedStep, Handover, Holder, StepClaim

pytestmark = pytest.mark.usefixtures("database")

HOLDER = Holder("worker/1", 6_000)


def claim(turn_id: UUID, *lane: str, generation: int = 1) -> StepClaim:
    with statement() as db:
        return steps.claim(db, turn_id, [lane], generation, HOLDER)


def advance(
    turn_id: UUID,
    name: str,
    attempt: int = 1,
    *,
    status: FinalStepStatus = "succeeded",
    lane: tuple[str, ...] = (),
    take: int = 0,
) -> Advance:
    error = None if status == "succeeded" else {"code": "INTERNAL_ERROR", "message": "broke"}
    finished = [FinishedStep(name, attempt, status, result={"ms": 1, "payload": None}, error=error)]
    with statement() as db:
        handover = Handover(finished, lanes=[lane] if lane else [])
        return steps.advance(db, turn_id, 1, handover, Capacity("tools.io", take, mixed=True), HOLDER)


def statuses(turn_id: UUID) -> dict[str, str]:
    with transaction() as db:
        return {row.id: row.status for row in steps.of_turn(db, turn_id)}


def test_a_claim_hands_out_arguments_and_a_fence() -> None:
    """The first attempt is 1. The claim has the facts of the turn too."""
    turn = running_turn(step("a", args={"ms": 5}))

    claimed = claim(turn.id, "a")

    assert claimed.verdict == "claimed"
    assert claimed.lanes[0].step is not None
    assert (claimed.lanes[0].step.attempt, claimed.lanes[0].step.args, claimed.lanes[0].step.tool) == (
        1,
        {"ms": 5},
        "sim.wait",
    )
    assert claimed.turn is not None
    assert claimed.turn.tenant_id == turn.tenant_id


@pytest.mark.parametrize(
    ("lane", "generation", "verdict"),
    [(("b",), 1, "early"), (("a",), 1, "busy"), (("a",), 0, "stale"), (("a",), 2, "stale"), (("x",), 1, "done")],
)
def test_a_copy_is_refused_with_its_reason(lane: tuple[str, ...], generation: int, verdict: str) -> None:
    """Another worker holds the step, its needs are not final, or the message is of another generation."""
    turn = running_turn(step("a"), step("b", "a"))
    claim(turn.id, "a")

    assert claim(turn.id, *lane, generation=generation).verdict == verdict


def test_a_step_that_ended_lets_the_lane_go_on() -> None:
    """A repeated message of a lane goes on after its final steps."""
    turn = running_turn(step("a"), step("b", "a"))
    claim(turn.id, "a")
    advance(turn.id, "a")

    again = claim(turn.id, "a", "b")

    assert again.lanes[0].step is not None
    assert again.lanes[0].step.id == "b"


def test_recording_claims_the_next_of_the_lane_in_the_same_commit() -> None:
    """A step that only reads needs no statement of its own to start."""
    turn = running_turn(step("a"), step("b", "a", args={"ms": 1, "payload": {"$from": "a.ms"}}))
    claim(turn.id, "a")

    after = advance(turn.id, "a", lane=("b",))

    (claimed,) = after.claimed
    assert claimed.step is not None
    assert (claimed.step.id, claimed.step.inputs) == ("b", {"a": {"ms": 1, "payload": None}})
    assert [event.type for event in after.events] == ["step.finished", "step.started"]


def test_a_write_is_never_claimed_along_with_another_commit() -> None:
    """A step with an effect is claimed by itself, before it acts."""
    turn = running_turn(step("a"), step("b", "a", tool="sim.write", args={"value": 1}))
    claim(turn.id, "a", "b")

    after = advance(turn.id, "a", lane=("b",))

    assert [(lane.steps, lane.step) for lane in after.claimed] == [(["b"], None)]
    assert statuses(turn.id)["b"] == "pending"


def test_an_old_fence_changes_nothing() -> None:
    """An outcome under another attempt's number is refused and counted."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")

    stale = advance(turn.id, "a", attempt=7)

    assert (stale.fenced, stale.respond, stale.events) == (["a"], None, [])
    assert statuses(turn.id) == {"a": "running"}


def test_an_outcome_counts_once() -> None:
    """Recording it again under the same fence changes nothing."""
    turn = running_turn(step("a"), step("b"))
    claim(turn.id, "a")

    first, second = advance(turn.id, "a"), advance(turn.id, "a")

    assert (first.fenced, second.fenced) == ([], ["a"])


def test_fragments_become_ready_with_their_last_need() -> None:
    """Step `d` waits for two others. The one that ends second releases it, exactly once."""
    turn = running_turn(step("a"), step("b"), step("c", "a"), step("d", "a", "b"))
    for name in ("a", "b"):
        claim(turn.id, name)

    first, second = advance(turn.id, "a"), advance(turn.id, "b")

    assert [fragment["lane"] for fragment in first.fragments] == [["c"]]
    assert [fragment["lane"] for fragment in second.fragments] == [["d"]]


def test_free_slots_take_ready_lanes_of_the_same_queue() -> None:
    """Only the lanes beyond the free slots are published."""
    turn = running_turn(step("a"), *(step(name, "a") for name in "bcde"), max_steps=1)
    claim(turn.id, "a")

    after = advance(turn.id, "a", take=3)

    assert len(after.claimed) == 3
    assert len(after.fragments) == 1
    assert sorted(statuses(turn.id).values()) == ["pending", "running", "running", "running", "succeeded"]


def test_the_last_step_gets_the_reply_to_write() -> None:
    """When two steps end at the same time, exactly one hands over the reply."""
    for _ in range(5):
        turn = running_turn(*(step(name) for name in "abcd"), conversation_id=f"c{_}")
        for name in "abcd":
            claim(turn.id, name)

        with ThreadPoolExecutor(4) as pool:
            told = [after.respond for after in pool.map(lambda name, t=turn.id: advance(t, name), "abcd")]

        assert [attempt is not None for attempt in told].count(True) == 1


def test_all_steps_that_need_a_failed_one_are_skipped() -> None:
    """The same commit skips all steps that depend on the failed one. The other steps go on."""
    turn = running_turn(step("a"), step("b", "a"), step("c", "b"), step("d"), step("e", "c", "d"))
    for name in ("a", "d"):
        claim(turn.id, name)

    advance(turn.id, "a", status="failed")
    last = advance(turn.id, "d")

    assert statuses(turn.id) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "succeeded", "e": "skipped"}
    assert last.respond is not None


def test_a_step_may_want_to_run_after_a_failure() -> None:
    """With `on_need_error=run`, a failed need counts as ended."""
    turn = running_turn(step("a"), step("b", "a", on_need_error="run"))
    claim(turn.id, "a")

    after = advance(turn.id, "a", status="failed", lane=("b",))

    assert [lane.step and lane.step.id for lane in after.claimed] == ["b"]


AFTER_A_FAILURE = pytest.mark.parametrize(
    ("critical", "expected"),
    [
        (True, {"a": "failed", "b": "cancelled", "c": "cancelled"}),
        (False, {"a": "failed", "b": "pending", "c": "skipped"}),
    ],
)
"""The outcomes of three steps with `fail_fast` when `a` has failed. Step `c` needs `a`."""


@AFTER_A_FAILURE
def test_fail_fast_cancels_what_has_not_started(critical: bool, expected: dict[str, str]) -> None:
    """The first critical failure ends all pending steps. One that is not critical only skips its followers."""
    turn = running_turn(step("a", critical=critical), step("b"), step("c", "a"), on_error="fail_fast")
    claim(turn.id, "a")

    after = advance(turn.id, "a", status="failed")

    assert statuses(turn.id) == expected
    assert (after.respond is not None) is critical


@AFTER_A_FAILURE
def test_fail_fast_stops_for_a_critical_step_that_kills_its_workers(critical: bool, expected: dict[str, str]) -> None:
    """A step that is lost in its last attempt has failed like any other."""
    turn = running_turn(step("a", critical=critical), step("b"), step("c", "a"), on_error="fail_fast")
    claim(turn.id, "a")
    change("UPDATE steps SET lease_until = '-infinity' WHERE id = 'a'")

    with transaction() as db:
        recovery.reclaim(db, turn.id, 1, 6_000)

    assert statuses(turn.id) == expected


def test_a_thousand_claims_at_once_start_a_step_once() -> None:
    """However many copies of a message there are, one gets the step."""
    turn = running_turn(step("a"))
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda _: claim(turn.id, "a").verdict, range(200)))

    assert verdicts.count("claimed") == 1
    assert set(verdicts) == {"claimed", "busy"}


def test_a_finished_turn_takes_no_claims() -> None:
    """A message that comes after the end finds nothing to do."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")
    advance(turn.id, "a")

    assert claim(turn.id, "a").verdict == "done"


def test_times_are_the_databases() -> None:
    """A step is ready when its last need ended, and starts and ends after that."""
    turn = running_turn(step("a"), step("b", "a"))
    claim(turn.id, "a")
    advance(turn.id, "a", lane=("b",))
    advance(turn.id, "b")

    with transaction() as db:
        rows: dict[str, Any] = {row.id: row for row in steps.of_turn(db, turn.id)}
        planned_at = turns.get(db, turn.id).planned_at  # type: ignore[union-attr]
    assert rows["a"].ready_at == planned_at
    assert rows["b"].ready_at == rows["a"].finished_at <= rows["b"].started_at <= rows["b"].finished_at


@pytest.mark.parametrize(
    ("status", "on_need_error", "ended"),
    [("failed", "skip", "failed"), ("failed", "run", "failed"), ("needs_input", "run", "needs_input")],
)
def test_a_copy_ends_as_the_step_whose_call_it_repeats(status: FinalStepStatus, on_need_error: str, ended: str) -> None:
    """It gets the same error in the same commit, whatever its `on_need_error`. The call is not made again."""
    twice = [step(name, tool="sim.echo", args={"value": 1}, on_need_error=on_need_error) for name in "ab"]
    turn = running_turn(*twice, step("c", "b"))
    claim(turn.id, "a")

    after = advance(turn.id, "a", status=status)

    assert statuses(turn.id) == {"a": status, "b": ended, "c": "skipped"}
    assert after.respond is not None
    with transaction() as db:
        a, b, _ = steps.of_turn(db, turn.id)
    assert (a.error, a.result) == (b.error, b.result)
