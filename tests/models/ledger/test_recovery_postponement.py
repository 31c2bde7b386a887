"""Turns are postponed while their language model is down, and taken up again at a set time."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from tests.factories import claim_turn, make_tenant, open_turn, record_plan, running_turn, step
from tests.models.ledger.explaining import beat, succeed, why
from tests.models.ledger.explaining import claim as claim_step
from tests.models.ledger.parking import change
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.event import Event
from turnloom.models.ledger import recovery, turns
from turnloom.models.tables.turns import TurnRow

pytestmark = pytest.mark.usefixtures("database")

ERROR = {"code": "llm_failed", "message": "the language model failed with HTTP 500"}


def postpone(turn_id: UUID, attempt: int, *pauses_ms: int) -> list[Event] | None:
    with statement() as db:
        return recovery.postpone(db, turn_id, attempt, pauses_ms or (2_000, 5_000), ERROR)


def planned() -> tuple[UUID, int]:
    """Return a turn that is being planned, and its fence."""
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    return turn.id, turn.attempt


def answered() -> tuple[UUID, int]:
    """Return a turn that is being answered, and its fence."""
    turn = running_turn(step("a"))
    claim_step(turn.id, "a")
    succeed(turn.id, "a")
    return turn.id, row(turn.id).attempt


def row(turn_id: UUID) -> TurnRow:
    with transaction() as db:
        found = turns.get(db, turn_id)
    assert found is not None
    return found


def let_its_time_come() -> None:
    change("UPDATE turns SET lease_until = clock_timestamp() - interval '1 ms'")


def lost() -> list[str]:
    with transaction() as db:
        return [turn.kind for turn in recovery.find_lost(db, timedelta(seconds=60), (), 100)]


def kinds(turn_id: UUID) -> list[str]:
    return [event.type for event in recorded_events(turn_id)]


def test_nobody_takes_a_postponed_turn_before_its_time() -> None:
    """Its planner has lost it and nobody claims it. `explain` says why it waits and until when."""
    turn_id, attempt = planned()
    postpone(turn_id, attempt)
    beat()

    assert claim_turn(turn_id) is None
    assert lost() == []
    assert postpone(turn_id, attempt) is None
    told = why(turn_id)
    assert (told.cause, told.until) == ("retry_at", row(turn_id).lease_until)
    assert "HTTP 500" in told.message


def test_a_postponed_plan_is_made_when_its_time_has_come() -> None:
    """Recovery gives it back to the planners. It counts neither as a loss nor as an attempt."""
    turn_id, attempt = planned()
    postpone(turn_id, attempt)
    let_its_time_come()

    found = lost()
    with statement() as db:
        recovery.requeue(db, turn_id)
    again = claim_turn(turn_id)

    assert found == ["plan"]
    assert again is not None
    assert (again.tries, row(turn_id).recoveries) == (1, 0)


def test_a_postponed_reply_is_made_when_its_time_has_come() -> None:
    """Its steps stay as they are. The next responder has a new fence."""
    turn_id, attempt = answered()
    postpone(turn_id, attempt)
    let_its_time_come()

    found = lost()
    with statement() as db:
        fence = recovery.take_over(db, turn_id, 6_000)

    assert (found, fence, row(turn_id).recoveries) == (["respond"], attempt + 2, 0)


@pytest.mark.parametrize("prepare", [planned, answered])
def test_the_pauses_grow_and_readers_are_notified_once(prepare: Callable[[], tuple[UUID, int]]) -> None:
    """The second pause is longer. One event says that the turn waits, with the reason and the time."""
    turn_id, attempt = prepare()
    first = postpone(turn_id, attempt)
    second = postpone(turn_id, attempt + 1)

    assert first is not None
    assert [(event.type, event.data["code"]) for event in first] == [("turn.queued", "llm_failed")]
    assert second == []
    assert kinds(turn_id).count("turn.queued") == 2
    error = row(turn_id).error
    assert error is not None
    assert error["times"] == 2


@pytest.mark.parametrize("prepare", [planned, answered])
def test_a_turn_is_not_postponed_beyond_its_deadline(prepare: Callable[[], tuple[UUID, int]]) -> None:
    """The process that holds it ends it with the results that there are."""
    turn_id, attempt = prepare()

    assert postpone(turn_id, attempt, 3_600_000) is None
    assert row(turn_id).attempt == attempt


def test_a_plan_ends_the_postponement() -> None:
    """The plan clears the reason. The turn's error is null, as in any turn in work."""
    turn_id, attempt = planned()
    postpone(turn_id, attempt)
    let_its_time_come()
    with statement() as db:
        recovery.requeue(db, turn_id)

    again = claim_turn(turn_id)
    assert again is not None
    record_plan(again, step("a"))

    assert row(turn_id).error is None
