"""A step is shown with its call only if its backend was called."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.factories import running_turn, step
from tests.models.ledger.stopping import claim, close, record
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import approvals, steps, turns
from turnloom.models.ledger.approvals import ApprovalRequest
from turnloom.models.ledger.steps import Capacity, FinishedStep, Handover, Holder
from turnloom.workers.turns.called_step import called_step

pytestmark = pytest.mark.usefixtures("database")
PLAN = [step("a"), step("same"), step("b", "a", args={"ms": 2})]
HOLDER, CAPACITY = Holder("worker/1", 6_000), Capacity("tools.io", 4, mixed=True)


def called(turn_id: UUID) -> dict[str, dict[str, Any] | None]:
    """Return the arguments of each step's call, None where there was none."""
    with transaction() as db:
        turn = turns.get(db, turn_id)
        assert turn is not None
        found = {row.id: called_step(db, turn, row.id).call for row in steps.of_turn(db, turn_id)}
    return {name: call and call.args for name, call in found.items()}


def end(turn_id: UUID, **outcome: Any) -> None:
    """Claim step `a` of a turn and let it end so."""
    claim(turn_id, "a")
    with statement() as db:
        steps.advance(db, turn_id, 1, Handover([FinishedStep("a", 1, **outcome)]), CAPACITY, HOLDER)


def ask(turn_id: UUID) -> None:
    """Claim step `a` of a turn and ask whether its call is approved."""
    claim(turn_id, "a")
    with statement() as db:
        approvals.ask(db, turn_id, ApprovalRequest("a", 1, {"ms": 1}, {"ms": 1}, "hash"), timedelta(hours=1))


def decide(turn_id: UUID, decision: Any) -> None:
    with statement() as db:
        approvals.decide(db, turn_id, "a", decision, None, UUID(int=1))


def test_a_step_that_was_never_begun_has_no_call() -> None:
    """Neither while it waits nor once its turn is stopped. One of the same call gets the other's result."""
    turn = running_turn(*PLAN)
    waiting = called(turn.id)
    claim(turn.id, "a")
    record(turn.id, "a")
    close(turn.id)

    assert waiting == {"a": None, "same": None, "b": None}
    assert called(turn.id) == {"a": {"ms": 1}, "same": None, "b": None}


@pytest.mark.parametrize("outcome", [{"status": "succeeded", "cache": "memory"}, {"status": "skipped"}])
def test_a_step_whose_call_was_not_needed_has_none(outcome: dict[str, Any]) -> None:
    """Its result was remembered, or its condition did not hold."""
    turn = running_turn(*PLAN)

    end(turn.id, **outcome)

    assert called(turn.id)["a"] is None


@pytest.mark.parametrize("decision", [None, "approve", "reject"])
def test_a_step_that_asks_for_approval_has_no_call_yet(decision: str | None) -> None:
    """It has been claimed, but nothing is called before it is approved and claimed again."""
    turn = running_turn(*PLAN)
    ask(turn.id)
    if decision:
        decide(turn.id, decision)

    assert called(turn.id)["a"] is None


@pytest.mark.parametrize("status", ["failed", "unknown", "succeeded"])
def test_a_step_that_was_called_shows_its_call(status: str) -> None:
    """Whatever came of it, and also if nobody knows."""
    turn = running_turn(*PLAN)

    end(turn.id, status=status, error=None if status == "succeeded" else {"code": "TOOL_TIMEOUT"})

    assert called(turn.id)["a"] == {"ms": 1}
