"""Stop turns and run their steps in the ledger, as the lifecycle does."""

from typing import Literal
from uuid import UUID

from sqlalchemy import text

from tests.factories import claim_turn, make_tenant, open_turn, running_turn, step
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.plan import FinalStepStatus
from turnloom.models.contracts.turn import FinalTurnStatus, Reply
from turnloom.models.ledger import cancellation, steps, turns
from turnloom.models.ledger.cancellation import ClosedTurn
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder
from turnloom.models.ledger.turns import Ending
from turnloom.models.tables.turns import TurnRow

HOLDER = Holder("worker/1", 6_000)
WRITE = step("w", tool="sim.write", args={"value": 7})


def close(turn_id: UUID | None, why: Literal["cancelled", "late"] = "cancelled") -> ClosedTurn | None:
    assert turn_id is not None
    with statement() as db:
        return cancellation.close(db, turn_id, why)


def claim(turn_id: UUID, name: str) -> steps.StepClaim:
    with statement() as db:
        return steps.claim(db, turn_id, [[name]], 1, HOLDER)


def record(turn_id: UUID, name: str, status: FinalStepStatus = "succeeded") -> steps.Advance:
    done = FinishedStep(name, 1, status, result={}, error=None if status == "succeeded" else {"code": "NOT_FOUND"})
    with statement() as db:
        return steps.advance(db, turn_id, 1, Handover([done]), Capacity("tools.io", 4, mixed=True), HOLDER)


def lose(turn_id: UUID) -> None:
    with transaction() as db:
        db.execute(text("UPDATE steps SET lease_until = '-infinity' WHERE turn_id = :turn"), {"turn": turn_id})


def lose_turn(turn_id: UUID) -> None:
    """Let the lease of a turn's planner or responder run out."""
    with transaction() as db:
        db.execute(text("UPDATE turns SET lease_until = '-infinity' WHERE id = :turn"), {"turn": turn_id})


def end(turn_id: UUID, attempt: int, status: FinalTurnStatus = "cancelled") -> turns.FinishedTurn | None:
    with statement() as db:
        return turns.finish(db, turn_id, attempt, Ending(status, Reply(text="stopped"), {}))


def view(turn_id: UUID | None) -> TurnRow:
    assert turn_id is not None
    with transaction() as db:
        row = turns.get(db, turn_id)
        assert row is not None
        return row


def statuses(turn_id: UUID) -> dict[str, str]:
    with transaction() as db:
        return {row.id: row.status for row in steps.of_turn(db, turn_id)}


def undecided_turn(*, is_final: bool = True, conversation_id: str = "c1") -> UUID:
    """Return a turn with a write of unknown outcome."""
    plan = [step("a"), {**WRITE, "args": {"value": {"$from": "a.ms"}}}]
    turn = running_turn(*plan, conversation_id=conversation_id)
    claim(turn.id, "a")
    record(turn.id, "a")
    with transaction() as db:
        db.execute(text("UPDATE steps SET result = '{\"ms\": 5}' WHERE id = 'a'"))
    claim(turn.id, "w")
    record(turn.id, "w", "unknown")
    if is_final:
        end(turn.id, turn.attempt + 1, "failed")
    return turn.id


def broken_turn(conversation_id: str = "broken") -> UUID:
    """Return a turn that an internal error has ended."""
    turn = claim_turn(open_turn(make_tenant(), conversation_id=conversation_id).turn_id)
    assert turn is not None
    error = {"code": "internal_error", "message": "KeyError"}
    with statement() as db:
        turns.finish(db, turn.id, turn.attempt, Ending("failed", Reply(text="sorry"), {}, error=error))
    return turn.id
