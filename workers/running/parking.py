"""Parking gives a claimed step back to the ledger, without an outcome.

A call that a person must approve waits for the decision. A call whose failure names a time waits for that time. A write
whose backend cannot tell its outcome waits until the backend is asked again. None of them holds a worker, a slot or a
lease meanwhile. When the step may go on, its turn is compiled again.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard
from uuid import UUID

import orjson

from turnloom.models.connections.database import statement
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import approvals
from turnloom.models.ledger.approvals import ApprovalRequest
from turnloom.models.ledger.steps import ClaimedStep, FinishedStep
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.tools.masking import masked
from turnloom.tools.registry import Tool
from turnloom.workers.dispatch import dispatch_deliveries
from turnloom.workers.running.outcomes import Outcome, Parked, failed
from turnloom.workers.running.tool_metrics import count_end
from turnloom.workers.turns.turn_events import committing

MOST_PARKED = 3
"""Times that a step is parked. The next failure of its call is final, whatever time it names."""
ASK_BACK = [timedelta(seconds=pause) for pause in (2, 5, 15, 60)]
"""Pauses before a backend is asked again for the outcome of a write; the last one repeats until the turn's deadline."""


def ask(turn_id: UUID, step: ClaimedStep, tool: Tool, args: dict[str, Any]) -> Outcome | None:
    """Ask for approval of a step's call before it is made. None: it is approved, with exactly these arguments."""
    request = ApprovalRequest(step.id, step.attempt, args, masked(args, tool.redact), args_hash(tool.name, args))
    try:
        with committing(turn_id, "approval.asked") as committed, statement() as db:
            answer = approvals.ask(db, turn_id, request, timedelta(seconds=settings().approval_timeout_s))
            if answer.verdict == "asked":
                committed(answer)
    except Unavailable as error:
        # The step is released without an outcome: its lease expires, and its next holder asks again.
        log.warning("approval.unasked", turn_id=str(turn_id), step_id=step.id, error=error.code)
        return Parked(step.id, step.attempt)
    if answer.verdict == "approved":
        return None
    if answer.verdict == "closed":
        return failed(step, "CANCELLED", "the turn was stopped before this step was approved")
    if answer.verdict == "asked":
        log.info("approval.asked", turn_id=str(turn_id), step_id=step.id)
    if answer.deliver:
        dispatch_deliveries([turn_id])
    return Parked(step.id, step.attempt)


def delay(turn_id: UUID, step: ClaimedStep, outcome: Outcome) -> Outcome:
    """Park a step whose call may be tried again at a named time; return any other outcome unchanged.

    A write whose backend must be asked again later is parked too: until the time that the failure names, or for an
    `ASK_BACK` pause.
    """
    if not is_due(outcome):
        return outcome
    assert outcome.error is not None
    try:
        with committing(turn_id, "step.delayed") as committed, statement() as db:
            told = committed(approvals.delay(db, turn_id, outcome, _pauses(outcome.error), MOST_PARKED))
    except Unavailable as error:
        log.warning("step.not_delayed", turn_id=str(turn_id), step_id=outcome.id, error=error.code)
        # A write is released: its lease expires, and its next holder asks the backend.
        return Parked(outcome.id, outcome.attempt) if outcome.ask_again else outcome
    if told is None:
        if outcome.ask_again:
            count_end(step.tool, outcome)
        return outcome
    return Parked(outcome.id, outcome.attempt)


def is_due(outcome: Outcome) -> TypeGuard[FinishedStep]:
    """Return whether a step must be tried again, or its backend asked again, later."""
    return isinstance(outcome, FinishedStep) and (outcome.ask_again or "retry_at" in (outcome.error or {}))


def _pauses(error: dict[str, Any]) -> Sequence[timedelta]:
    if "retry_at" not in error:
        return ASK_BACK
    return [max(timedelta(0), datetime.fromisoformat(error["retry_at"]) - datetime.now(UTC))]


def args_hash(tool: str, args: dict[str, Any]) -> str:
    """Return the hash that binds an approval: SHA-256 over the tool's name and the arguments as canonical JSON."""
    return hashlib.sha256(f"{tool}|".encode() + orjson.dumps(args, option=orjson.OPT_SORT_KEYS)).hexdigest()
