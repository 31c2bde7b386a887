"""Approvals ask a person about a call, record the decision, and lapse. A step can also be parked for a delay."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from turnloom.models.contracts.approval import Approval, Decision
from turnloom.models.contracts.event import Event, read_events
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger.recovery import LEASE_MS
from turnloom.models.ledger.steps import FinishedStep
from turnloom.models.ledger.transitions import call
from turnloom.models.tables.steps import IS_WAITING, StepRow


@dataclass(frozen=True)
class ApprovalRequest:
    """A call that needs a person's approval."""

    step_id: str
    attempt: int
    args: dict[str, Any]
    masked: dict[str, Any]
    """The arguments as events show them."""
    args_hash: str


@dataclass(frozen=True)
class ApprovalAnswer:
    """The ledger's answer to a request for approval."""

    verdict: Literal["approved", "asked", "closed", "fenced"]
    """`asked`: the step is parked. `closed`: the turn was stopped. `fenced`: the caller no longer holds the step."""
    events: list[Event]
    deliver: bool
    """Whether a request to the person of a channel is to be sent. The caller dispatches that."""


@dataclass(frozen=True)
class Decided:
    """A decision about a step, and its consequences."""

    turn_id: UUID
    approval: Approval
    is_new: bool
    """Whether this call decided it: then the caller carries out the consequences."""
    respond: int | None
    """The turn's fence for the reply, if no step is left to run."""
    events: list[Event]
    deliver: bool
    """Whether the person of a channel is to be asked about the next call. The caller dispatches that, too."""


def ask(db: psycopg.Connection, turn_id: UUID, request: ApprovalRequest, timeout: timedelta) -> ApprovalAnswer:
    """Ask whether a call is approved with these arguments; if it is not, park its step under its fence."""
    found = call(
        db,
        "ask_approval",
        turn=turn_id,
        step=request.step_id,
        attempt=request.attempt,
        args=Jsonb(request.args),
        masked=Jsonb(request.masked),
        args_hash=request.args_hash,
        timeout_ms=round(timeout.total_seconds() * 1000),
    )
    return ApprovalAnswer(found["verdict"], read_events(found["events"]), found.get("deliver", False))


def delay(
    db: psycopg.Connection, turn_id: UUID, failed: FinishedStep, pauses: Sequence[timedelta], at_most: int
) -> list[Event] | None:
    """Park a failed step until its call may be made again; None if it is not parked: then it has failed.

    If it is unknown whether the call took effect, the backend is asked then. `pauses` holds one pause for each time
    that the step is parked; the last one serves all further times. The step is not parked if the pause ends after the
    turn's deadline, or if its outcome is known and it was parked `at_most` times before.
    """
    found = call(
        db,
        "delay_step",
        turn=turn_id,
        step=failed.id,
        attempt=failed.attempt,
        pauses_ms=[round(pause.total_seconds() * 1000) for pause in pauses],
        error=Jsonb(failed.error),
        most=at_most,
        unsure=failed.status == "unknown",
    )
    return read_events(found) if found is not None else None


def decide(
    db: psycopg.Connection, turn_id: UUID, step_id: str, decision: Decision, reason: str | None, key_id: UUID
) -> Decided:
    """Record a person's decision about a waiting step. Repeating the decision changes nothing.

    Raises:
        NotFound: there is no such step.
        Conflict: another decision was recorded, or the step does not wait for approval.
    """
    found = _decide(db, turn_id, step_id, (decision, reason, key_id))
    if found is None:
        raise NotFound(f"there is no step {step_id!r} in turn {turn_id}")
    decided, status = found
    if decided is None or decided.approval.decision is None:
        raise Conflict(f"step {step_id!r} is {status}: it does not wait for approval", code="not_waiting")
    if decided.approval.decision != decision:
        by = decided.approval.by or "the time that was given for it"
        message = f"step {step_id!r} has its decision, {decided.approval.decision}, by {by}"
        raise Conflict(message, code="decided_otherwise")
    return decided


def lapse(db: psycopg.Connection, turn_id: UUID, step_id: str) -> Decided | None:
    """Reject a call that nobody decided in time; None if somebody did, or if it no longer waits."""
    decided, _ = _decide(db, turn_id, step_id, ("reject", None, None)) or (None, None)
    return decided if decided and decided.is_new else None


def find_lapsed(db: Session, limit: int) -> list[tuple[UUID, str]]:
    """Return the steps (turn, step) whose time for approval is over, the longest overdue first."""
    query = select(StepRow.turn_id, StepRow.id).where(text(IS_WAITING), StepRow.lapses_at < func.clock_timestamp())
    return [(turn_id, step_id) for turn_id, step_id in db.execute(query.order_by(StepRow.lapses_at).limit(limit))]


def read_approval(found: dict[str, Any] | None) -> Approval | None:
    """Read the approval in a step's row; None if nobody was asked."""
    if found is None:
        return None
    return Approval.model_validate({name: found.get(name) for name in Approval.model_fields})


def read_decided(turn_id: UUID, found: dict[str, Any]) -> Decided | None:
    """Read a decision as the ledger's functions return it; None if nobody was asked."""
    approval = read_approval(found["approval"])
    if approval is None:
        return None
    events = read_events(found["events"])
    return Decided(turn_id, approval, found["is_new"], found.get("respond"), events, found.get("deliver", False))


def _decide(
    db: psycopg.Connection, turn_id: UUID, step_id: str, given: tuple[Decision, str | None, UUID | None]
) -> tuple[Decided | None, str] | None:
    """Return the decision as recorded, and the step's status; None if there is no such step."""
    decision, reason, key_id = given
    found = call(
        db,
        "decide_approval",
        turn=turn_id,
        step=step_id,
        decision=decision,
        reason=reason,
        key=key_id,
        in_chat=False,
        lease_ms=LEASE_MS,
    )
    return None if found is None else (read_decided(turn_id, found), found["status"])
