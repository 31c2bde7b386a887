"""An approval holds the question to a person before a call is made, and their decision."""

from typing import Literal

from pydantic import Field

from turnloom.models.contracts.base import Contract, Moment

Decision = Literal["approve", "reject"]


class ApprovalDecision(Contract):
    """A person's decision about the call that a step waits to make."""

    decision: Decision
    reason: str | None = Field(None, max_length=2000)
    """Why; kept with the step and in the audit log."""


class Approval(Contract):
    """A request for approval, and the decision once there is one."""

    args_hash: str
    """SHA-256 of the arguments shown, as canonical JSON: the decision holds only for these."""
    asked_at: Moment
    lapses_at: Moment
    """If nobody decides by then, the call is rejected."""
    decision: Decision | None = None
    reason: str | None = None
    by: str | None = None
    """Name of the key that decided; `person` if it was the person of the conversation, in chat; None if the approval
    lapsed."""
    decided_at: Moment | None = None


class DecidedApproval(Contract):
    """The recorded decision about a step. The same decision always gets the same answer."""

    turn_id: str
    step: str
    approval: Approval
