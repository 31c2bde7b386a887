"""A turn whose plan has no steps is answered in the commit that records the plan, or not at all."""

import pytest

from tests.factories import claim_turn, make_tenant, open_turn
from tests.models.ledger.early import told
from tests.models.ledger.stopping import close
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.plan import Plan
from turnloom.models.contracts.turn import Reply
from turnloom.models.contracts.usage import LlmCall
from turnloom.models.ledger import plans, replies, turns, usage
from turnloom.models.ledger.plans import NewPlan
from turnloom.models.ledger.turns import ClaimedTurn, Ending, FinishedTurn

pytestmark = pytest.mark.usefixtures("database")

CALL = LlmCall("plan", "m", 10, 0, 5, 0.01, 1.0, "stop")


def _claimed() -> ClaimedTurn:
    turn = claim_turn(open_turn(make_tenant()).turn_id)
    assert turn is not None
    return turn


def _answer(turn: ClaimedTurn) -> FinishedTurn | None:
    plan = Plan(reply="Hello.", steps=[])
    new = NewPlan(plan, "llm", {}, [], [], "dense", None, slots={"adults": 2})
    with statement() as db:
        return plans.answer(db, turn.id, turn.attempt, new, Ending("succeeded", Reply(text="Hello."), {}), [CALL])


def test_plan_and_reply_are_one_commit() -> None:
    """The turn is final, with its plan, reply, calls and events in order. The next turn may start."""
    turn = _claimed()
    following = open_turn(turn.tenant_id, "next", on_busy="enqueue")

    answered = _answer(turn)

    assert answered is not None
    assert answered.released == [following.turn_id]
    assert told(turn.id)[2:] == ["plan.ready", "reply.done", "turn.succeeded"]
    assert [event.type for event in answered.events] == told(turn.id)[2:]
    with transaction() as db:
        row, reply = turns.get(db, turn.id), replies.of_turn(db, turn.id)
        assert (row and row.status, row and row.slots, reply and reply.text) == ("succeeded", {"adults": 2}, "Hello.")
        assert [plan.document["reply"] for plan in plans.of_turn(db, turn.id)] == ["Hello."]
        assert [call.purpose for call in usage.calls_of(db, turn.tenant_id, turn.id)] == ["plan"]


def test_a_turn_that_was_closed_meanwhile_is_not_answered() -> None:
    """Under an old fence neither the plan nor the reply is recorded."""
    turn = _claimed()
    close(turn.id)

    answered = _answer(turn)

    assert answered is None
    with transaction() as db:
        assert (plans.of_turn(db, turn.id), replies.of_turn(db, turn.id)) == ([], None)
