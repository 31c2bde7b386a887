"""In the ledger, a turn can be closed at any moment, and only once."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, record_plan, running_turn, step
from tests.models.ledger.stopping import WRITE, claim, close, end, lose, record, statuses, view
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import cancellation, recovery
from turnloom.models.ledger.cancellation import ClosedTurn

pytestmark = pytest.mark.usefixtures("database")


def test_closing_ends_reads_and_leaves_writes() -> None:
    """Pending steps and running reads are cancelled. A write under way stays with its worker."""
    turn = running_turn(step("r"), WRITE, step("after", "w"), step("later"))
    for name in ("r", "w"):
        claim(turn.id, name)

    closed = close(turn.id)

    assert closed is not None
    assert (closed.respond, view(turn.id).status, view(turn.id).open_steps) == (turn.attempt + 1, "responding", 1)
    assert statuses(turn.id) == {"r": "cancelled", "w": "running", "after": "cancelled", "later": "cancelled"}
    assert {event.data["error"]["code"] for event in closed.events} == {"CANCELLED"}
    assert claim(turn.id, "later").verdict in ("done", "closed")
    assert record(turn.id, "r").fenced == ["r"]


def test_a_closed_turn_is_closed_once() -> None:
    """The first reason counts. Later calls get no fence, and a final turn stays as it is."""
    turn = running_turn(step("a"))
    first, second = close(turn.id), close(turn.id, "late")

    assert first is not None
    assert second == ClosedTurn(turn.id, None, [])
    assert view(turn.id).ending == "cancelled"
    assert end(turn.id, first.respond or 0) is not None
    assert close(turn.id) is None
    assert view(turn.id).status == "cancelled"


@pytest.mark.parametrize("stage", ["queued", "planning", "running", "responding"])
def test_whoever_had_the_turn_has_lost_its_fence(stage: str) -> None:
    """Closing works at any moment. Afterwards its planner or responder can record neither a plan nor a reply."""
    opened = open_turn(make_tenant())
    turn = claim_turn(opened.turn_id) if stage != "queued" else None
    if turn is not None and stage != "planning":
        record_plan(turn, *([step("a")] if stage == "running" else []))

    closed = close(opened.turn_id)

    assert closed is not None
    assert view(opened.turn_id).status == "responding"
    assert turn is None or finish_turn(turn) is None
    assert claim_turn(opened.turn_id) is None
    assert end(closed.id, closed.respond or 0) is not None


def test_a_write_that_outlives_its_turn_is_recorded_without_an_event() -> None:
    """The final event stays the last one. The ledger has the step's outcome, and nothing else follows from it."""
    turn = running_turn(WRITE, step("after", "w"))
    claim(turn.id, "w")
    closed = close(turn.id)
    assert closed is not None
    end(turn.id, closed.respond or 0)
    before = view(turn.id)

    late = record(turn.id, "w")

    after = view(turn.id)
    assert (late.fenced, late.respond, late.events, late.claimed) == ([], None, [], [])
    assert statuses(turn.id) == {"w": "succeeded", "after": "cancelled"}
    assert (after.status, after.responding_at, after.lease_until) == ("cancelled", before.responding_at, None)
    assert after.open_steps == 0
    assert recorded_events(turn.id)[-1].type == "turn.cancelled"


@pytest.mark.parametrize("is_final", [True, False])
def test_a_lost_write_of_a_closed_turn_is_unknown(is_final: bool) -> None:
    """When its lease runs out it is not made again, and the list for operators shows it."""
    turn = running_turn(WRITE)
    claim(turn.id, "w")
    closed = close(turn.id)
    assert closed is not None
    if is_final:
        end(turn.id, closed.respond or 0)
    with transaction() as db:
        held = recovery.find_lost(db, timedelta(minutes=1), [], 10)
    lose(turn.id)

    with transaction() as db:
        lost = [(found.id, found.kind) for found in recovery.find_lost(db, timedelta(minutes=1), [], 10)]
    with statement() as db:
        told = recovery.give_up(db, turn.id)

    assert (held, lost) == ([], [(turn.id, "effect")])
    assert statuses(turn.id) == {"w": "unknown"}
    assert [event.type for event in told] == ([] if is_final else ["step.finished"])
    assert record(turn.id, "w").fenced == ["w"]


def test_a_turn_that_is_closed_while_it_waits_hands_nothing_on() -> None:
    """The active turn stays active, and the turn behind the closed one is next."""
    tenant = make_tenant()
    first, second, third = (open_turn(tenant, on_busy="enqueue") for _ in range(3))
    active = claim_turn(first.turn_id)
    assert active is not None
    closed = close(second.turn_id)
    assert closed is not None

    ended = end(closed.id, closed.respond or 0)

    assert ended is not None
    assert ended.released == []
    assert claim_turn(third.turn_id) is None
    finished = finish_turn(active)
    assert finished is not None
    assert finished.released == [third.turn_id]


@pytest.mark.parametrize("status", ["queued", "planning", "running"])
def test_turns_past_their_deadline_are_found(status: str) -> None:
    """Turns that wait, are planned or run are found once the grace is over. Turns that are being answered are not."""
    opened = open_turn(make_tenant())
    turn = claim_turn(opened.turn_id) if status != "queued" else None
    if turn is not None and status == "running":
        record_plan(turn, step("a"))
    with transaction() as db:
        early = cancellation.find_late(db, timedelta(0), 10)
        db.execute(text("UPDATE turns SET deadline_at = clock_timestamp() - interval '2 s'"))
        soon = cancellation.find_late(db, timedelta(seconds=5), 10)
        late = cancellation.find_late(db, timedelta(seconds=1), 10)
    close(opened.turn_id, "late")

    with transaction() as db:
        assert (early, soon, late) == ([], [], [opened.turn_id])
        assert cancellation.find_late(db, timedelta(0), 10) == []
