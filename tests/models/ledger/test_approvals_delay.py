"""In the ledger, a call whose failure names a time waits until that time and holds nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.factories import running_turn, step
from tests.models.ledger.explaining import why
from tests.models.ledger.parking import change, delay, row
from tests.models.ledger.stopping import HOLDER, WRITE, claim, close, record, statuses, view
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.delay_causes import Facts, OpenStep, explain
from turnloom.models.ledger import approvals, recovery, steps
from turnloom.models.ledger.steps import FinishedStep
from turnloom.models.runtime.ids import new_id

pytestmark = pytest.mark.usefixtures("database")

LONG_GRACE = timedelta(hours=1)


def found() -> list[tuple[UUID, str]]:
    with transaction() as db:
        return [(turn.id, turn.kind) for turn in recovery.find_lost(db, LONG_GRACE, ["tools.io"], 10)]


def reclaim(turn_id: UUID) -> recovery.Reclaimed:
    with transaction() as db:
        reclaimed = recovery.reclaim(db, turn_id, 5, 6_000)
    assert reclaimed is not None
    return reclaimed


def let_its_time_come() -> None:
    change("UPDATE steps SET not_before = clock_timestamp() - interval '1 ms' WHERE not_before IS NOT NULL")
    change("UPDATE turns SET compiled_at = compiled_at - interval '1 s'")


def test_a_delayed_step_holds_nothing_and_says_when() -> None:
    """It is pending without a lease and keeps its error with the time. An event tells of the pause."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")

    told = delay(turn.id, "a")

    delayed = row(turn.id, "a")
    assert (delayed.status, delayed.lease_until, delayed.attempt) == ("pending", None, 1)
    assert delayed.error is not None
    assert (delayed.error["code"], datetime.fromisoformat(delayed.error["retry_at"])) == (
        "RATE_LIMITED",
        delayed.not_before,
    )
    assert told is not None
    assert [(event.type, event.data["pause_ms"], event.data["try"]) for event in told] == [("step.retry", 30_000, 1)]
    assert record(turn.id, "a").fenced == ["a"]
    assert view(turn.id).status == "running"


def test_a_delayed_step_is_refused_before_its_time_and_found_afterwards() -> None:
    """No message starts it early. At its time recovery finds it once, without any grace, whatever the queue holds."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")
    delay(turn.id, "a")
    early = (claim(turn.id, "a").verdict, found())

    let_its_time_come()
    due = found()
    (node,) = reclaim(turn.id).steps

    assert early == ("early", [])
    assert due == [(turn.id, "steps")]
    assert (node["is_pinned"], found()) == (False, [])


def test_recovery_of_another_step_neither_starts_nor_loses_a_delayed_one() -> None:
    """It stays pinned when the turn is compiled again while it waits, and its time is still found."""
    turn = running_turn(step("a"), step("b"))
    for name in "ab":
        claim(turn.id, name)
    delay(turn.id, "a")
    change("UPDATE steps SET lease_until = '-infinity' WHERE id = 'b'")

    between = {node["id"]: node["is_pinned"] for node in reclaim(turn.id).steps}
    before = found()
    let_its_time_come()

    assert between == {"a": True, "b": False}
    assert before == []
    assert found() == [(turn.id, "steps")]


def test_a_time_that_has_come_is_no_loss() -> None:
    """Recovery lengthens its pause between sends only for lost steps."""
    turn = running_turn(step("a"), step("b"))
    for name in "ab":
        claim(turn.id, name)
    delay(turn.id, "a")
    let_its_time_come()
    reclaim(turn.id)
    after_its_time = view(turn.id).recoveries
    change("UPDATE steps SET lease_until = '-infinity' WHERE id = 'b'")
    reclaim(turn.id)

    assert (after_its_time, view(turn.id).recoveries) == (0, 1)


def test_a_step_that_ran_ahead_has_begun_when_it_is_delayed() -> None:
    """Its start was not announced, yet the turn can be explained and its events are in order."""
    turn = running_turn(step("a"), step("b", "a"))
    with statement() as db:
        steps.claim(db, turn.id, [["a", "b"]], 1, HOLDER)
    record(turn.id, "a")

    told = delay(turn.id, "b")

    assert told is not None
    assert [event.type for event in told] == ["step.started", "step.retry"]
    assert why(turn.id).cause == "rate_limit"
    assert row(turn.id, "b").started_at is not None


def test_the_next_claim_of_a_delayed_step_has_no_error() -> None:
    """The last error is gone, and the step is ready since its time, not since its needs ended."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")
    delay(turn.id, "a")
    let_its_time_come()

    again = claim(turn.id, "a")

    started = row(turn.id, "a")
    assert again.verdict == "claimed"
    assert (started.error, started.ready_at, started.attempt) == (None, started.not_before, 2)


def test_a_time_after_the_deadline_is_no_use() -> None:
    """The step is not parked, and its worker records the failure."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")

    told = delay(turn.id, "a", pause_s=61)

    assert (told, statuses(turn.id)) == (None, {"a": "running"})


def test_a_step_is_delayed_a_few_times_and_then_fails() -> None:
    """Each delay counts, whichever worker claims the step."""
    turn = running_turn(step("a"))
    told = []
    for attempt in (1, 2, 3):
        claim(turn.id, "a")
        told.append(delay(turn.id, "a", 0, attempt=attempt, at_most=2) is not None)

    assert told == [True, True, False]
    assert row(turn.id, "a").parked == 2


def test_only_the_holder_of_a_step_delays_it() -> None:
    """Under an old fence, or in a turn that was stopped, nothing is parked."""
    turn = running_turn(step("a"), step("w", tool="sim.write", args={"value": 1}))
    for name in "aw":
        claim(turn.id, name)
    stale = delay(turn.id, "a", attempt=7)
    close(turn.id)

    assert (stale, delay(turn.id, "w")) == (None, None)
    assert statuses(turn.id) == {"a": "cancelled", "w": "running"}


def test_stopping_a_turn_ends_what_is_delayed() -> None:
    """The step does not come back at its time."""
    turn = running_turn(step("a"))
    claim(turn.id, "a")
    delay(turn.id, "a")

    close(turn.id)
    let_its_time_come()

    assert (statuses(turn.id), found()) == ({"a": "cancelled"}, [])


PAUSES = [timedelta(seconds=pause) for pause in (2, 5, 15)]


def ask_later(turn_id: UUID, attempt: int = 1, pauses: Sequence[timedelta] = PAUSES) -> int | None:
    """Park the write until its backend is asked again. Return the pause in milliseconds."""
    unsure = FinishedStep("w", attempt, "unknown", error={"code": "UPSTREAM_5XX", "message": "out"}, ask_again=True)
    with statement() as db:
        told = approvals.delay(db, turn_id, unsure, pauses, 1)
    return told[-1].data["pause_ms"] if told else None


def test_a_write_is_asked_about_again_and_again() -> None:
    """The pauses grow, and the last one repeats, however often the write was parked. It keeps its claim."""
    turn = running_turn(WRITE)
    pauses = []
    for attempt in range(1, 6):
        claimed = claim(turn.id, "w")
        pauses.append(ask_later(turn.id, attempt))
        told_before = why(turn.id).message
        let_its_time_come()

    assert pauses == [2_000, 5_000, 15_000, 15_000, 15_000]
    assert claimed.lanes[0].step is not None
    assert claimed.lanes[0].step.unsure
    assert "tried again" in told_before
    assert "what became of its call (out)" in told_before
    assert ask_later(turn.id, 5) is None
    assert (row(turn.id).attempt - row(turn.id).parked, reclaim(turn.id).steps[0]["is_pinned"]) == (0, False)


@pytest.mark.parametrize(
    ("left_s", "pause_s", "parked_s"), [(30, 60, (0, 27)), (30, 1, (1, 1)), (2.9, 0.001, (0, 0.001)), (2.9, 60, None)]
)
def test_the_last_question_comes_before_the_deadline(
    left_s: float, pause_s: float, parked_s: tuple[float, float] | None
) -> None:
    """A pause that would outlast the turn is cut to leave time for one more attempt. After that one there is none."""
    turn = running_turn(WRITE)
    claim(turn.id, "w")
    change("UPDATE turns SET deadline_at = clock_timestamp() + make_interval(secs => :left)", left=left_s)

    pause_ms = ask_later(turn.id, pauses=[timedelta(seconds=pause_s)] * 2)

    assert (pause_ms is None) == (parked_s is None)
    assert pause_ms is None or parked_s is None or parked_s[0] <= pause_ms / 1000 <= parked_s[1]


def test_closing_a_turn_leaves_a_write_to_be_asked_about_unknown() -> None:
    """The write may have happened. Steps that have not begun are cancelled."""
    turn = running_turn(WRITE, step("a"))
    claim(turn.id, "w")
    ask_later(turn.id)

    close(turn.id, "late")

    assert statuses(turn.id) == {"w": "unknown", "a": "cancelled"}
    assert row(turn.id).error == {"code": "UPSTREAM_5XX", "message": "out"}


def test_a_lost_write_of_a_turn_that_is_closed_is_unknown() -> None:
    """No worker has asked its backend for the outcome."""
    turn = running_turn(WRITE)
    claim(turn.id, "w")
    change("UPDATE steps SET lease_until = '-infinity'")
    reclaim(turn.id)

    close(turn.id)

    assert (statuses(turn.id), (row(turn.id).error or {})["code"]) == ({"w": "unknown"}, "CANCELLED")


def test_a_failure_does_not_stop_a_write_to_be_asked_about() -> None:
    """With `fail_fast`, a write that waits to ask its backend has begun and runs to its end."""
    turn = running_turn(WRITE, step("a"), step("b"), on_error="fail_fast")
    claim(turn.id, "w")
    ask_later(turn.id)
    claim(turn.id, "a")

    record(turn.id, "a", "failed")

    assert statuses(turn.id) == {"w": "pending", "a": "failed", "b": "cancelled"}
    let_its_time_come()
    assert claim(turn.id, "w").verdict == "claimed"


@pytest.mark.parametrize(
    ("code", "cause"), [("RATE_LIMITED", "rate_limit"), ("CIRCUIT_OPEN", "circuit_open"), ("UPSTREAM_5XX", "retry_at")]
)
def test_a_delayed_step_says_why(code: str, cause: str) -> None:
    """A rate limit, an open circuit and a passing failure are separate causes."""
    at, later = datetime(2026, 11, 22, 9, tzinfo=UTC), datetime(2026, 11, 22, 9, 5, tzinfo=UTC)
    error = {"code": code, "message": "5 times a minute"}
    parked = OpenStep("a", "sim.wait", "tools.io", at, not_before=later, error=error)
    facts = Facts(
        at=at,
        turn_id=new_id(),
        status="running",
        since=at,
        attempt=1,
        lease_until=None,
        lease=timedelta(seconds=6),
        earlier=None,
        held=None,
        postponed=None,
        steps=[parked],
        slots={},
        is_taken_over=False,
        at_work=0,
    )

    found = explain(facts, {})

    assert (found.cause, found.step, found.until) == (cause, "a", later)
    assert ("5 times a minute" in found.message) == (cause != "retry_at")
