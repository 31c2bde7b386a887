"""The outcome of a call becomes the outcome of its step here. Pure."""

from dataclasses import dataclass

from turnloom.models.contracts.envelope import Envelope, ErrorCode, ToolError
from turnloom.models.contracts.plan import FinalStepStatus
from turnloom.models.ledger.steps import ClaimedStep, FinishedStep


@dataclass(frozen=True)
class Parked:
    """A step that its executor has released, and that is not final."""

    id: str
    attempt: int


Outcome = FinishedStep | Parked

GRACE_S = 0.25
"""Extra time for a tool that keeps its deadline itself, before its call is given up."""


def ended(step: ClaimedStep, envelope: Envelope) -> FinishedStep:
    """Return the outcome that a tool's envelope states."""
    if envelope.ok:
        return FinishedStep(step.id, step.attempt, "succeeded", result=envelope.data, cache=envelope.cache)
    if envelope.needs is not None:
        result = {"needs": envelope.needs}
        return FinishedStep(step.id, step.attempt, "needs_input", result=result, cache=envelope.cache)
    assert envelope.error is not None
    if envelope.unsure and step.effect != "read":
        return unknown(step, envelope)
    status: FinalStepStatus = "cancelled" if envelope.error.code == "CANCELLED" else "failed"
    error = envelope.error.model_dump(mode="json", exclude_none=True)
    return FinishedStep(step.id, step.attempt, status, error=error, cache=envelope.cache)


def given_up(step: ClaimedStep) -> FinishedStep:
    """Return the outcome of a step whose tool did not return."""
    message = f"{step.tool} did not return within its {step.timeout_ms} ms and was given up"
    return _untold(step, "TOOL_TIMEOUT", message)


def broken(step: ClaimedStep) -> FinishedStep:
    """Return the outcome of a step after our own fault around its call."""
    return _untold(step, "INTERNAL_ERROR", f"an internal fault around the call of {step.tool}; see the worker's log")


def _untold(step: ClaimedStep, code: ErrorCode, message: str) -> FinishedStep:
    """Return the outcome of a step whose call gave none. Whether a write took effect is not known."""
    status: FinalStepStatus = "failed" if step.effect == "read" else "unknown"
    return FinishedStep(step.id, step.attempt, status, error={"code": code, "message": message})


def unknown(step: ClaimedStep, envelope: Envelope) -> FinishedStep:
    """Return the outcome of a write that nobody knows: the backend is asked later, or operators decide."""
    assert envelope.error is not None
    error = envelope.error.model_dump(mode="json", exclude_none=True)
    return FinishedStep(step.id, step.attempt, "unknown", error=error, ask_again=envelope.ask_again)


def failed(step: ClaimedStep, code: ErrorCode, message: str) -> FinishedStep:
    """Return the outcome of a step whose tool is not called. An earlier call of a write stays unknown."""
    return ended(step, Envelope(ok=False, error=ToolError(code=code, message=message), unsure=step.unsure))
