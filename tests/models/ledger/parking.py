"""Park steps in the ledger and decide what they wait for, as the lifecycle does."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import text

from tests.factories import step
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.approval import Decision
from turnloom.models.contracts.event import Event
from turnloom.models.ledger import approvals, steps
from turnloom.models.ledger.approvals import ApprovalAnswer, ApprovalRequest, Decided
from turnloom.models.ledger.steps import FinishedStep
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.steps import StepRow

APPROVED = step("w", tool="sim.approve", args={"value": 7})
DAY = timedelta(days=1)
BUSY = {"code": "RATE_LIMITED", "message": "slow down"}


def ask(
    turn_id: UUID, name: str = "w", *, attempt: int = 1, hash_: str = "h", timeout: timedelta = DAY
) -> ApprovalAnswer:
    request = ApprovalRequest(name, attempt, {"value": 7}, {"value": "***"}, hash_)
    with statement() as db:
        return approvals.ask(db, turn_id, request, timeout)


def decide(turn_id: UUID, decision: Decision = "approve", name: str = "w", reason: str | None = None) -> Decided:
    with statement() as db:
        return approvals.decide(db, turn_id, name, decision, reason, new_id())


def delay(turn_id: UUID, name: str, pause_s: float = 30, *, attempt: int = 1, at_most: int = 3) -> list[Event] | None:
    failed = FinishedStep(name, attempt, "failed", error=BUSY)
    with statement() as db:
        return approvals.delay(db, turn_id, failed, [timedelta(seconds=pause_s)], at_most)


def lapse(turn_id: UUID, name: str = "w") -> Decided | None:
    with statement() as db:
        return approvals.lapse(db, turn_id, name)


def find_lapsed() -> list[tuple[UUID, str]]:
    with transaction() as db:
        return approvals.find_lapsed(db, 10)


def change(query: str, **values: Any) -> None:
    with transaction() as db:
        db.execute(text(query), values)


def row(turn_id: UUID, name: str = "w") -> StepRow:
    with transaction() as db:
        return next(found for found in steps.of_turn(db, turn_id) if found.id == name)
