"""Dead letters are what did not end properly: an operator looks after them."""

from typing import Any, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from turnloom.models.contracts.base import Contract, Moment

DeadLetterKind = Literal["step", "turn", "delivery", "callback"]


class DeadLetter(Contract):
    """A turn, a step, a part of a reply or a callback that did not end properly."""

    tenant: str
    """The tenant's name."""
    kind: DeadLetterKind
    """`step`: it is to be decided. `turn`: there is nothing to decide. The others may be sent again."""
    turn_id: UUID
    step: str | None
    part: int | None
    """The part of the reply."""
    tool: str | None
    code: str | None
    """The code of its error; None once its conversation is erased."""
    since: Moment


class DeadLetterList(Contract):
    """The tenant's dead letters: those to decide or to send again, then turns, each the newest first."""

    items: list[DeadLetter]
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; None at the end."""


class StepCall(Contract):
    """The call of a step, as its backend got it."""

    args: dict[str, Any]
    idempotency_key: str
    """The key that the tool sent with the call."""


class CalledStep(Contract):
    """A step, and its call."""

    turn_id: str
    turn_status: str
    conversation_id: str
    step: str
    tool: str
    effect: str
    status: str
    attempt: int
    worker: str | None
    started_at: Moment | None
    finished_at: Moment | None
    fallbacks: list[dict[str, Any]]
    result: Any
    error: dict[str, Any] | None
    call: StepCall | None
    """None if the call was never made, its result came from a cache, or the conversation was erased."""


class StepDecision(Contract):
    """An operator's finding about a step of unknown outcome."""

    status: Literal["succeeded", "failed"]
    """How the step ended."""
    result: dict[str, Any] | None = None
    """The object that the tool would have returned. A step that failed has none."""
    note: str | None = Field(None, max_length=2_000)
    """How they found out; kept in the audit log."""

    @model_validator(mode="after")
    def _failed_has_no_result(self) -> Self:
        if self.status == "failed" and self.result is not None:
            raise ValueError("a step that failed has no result")
        return self


class DecidedStep(Contract):
    """A step whose outcome an operator has decided."""

    turn_id: str
    step: str
    status: Literal["succeeded", "failed"]


class RedrivenDelivery(Contract):
    """A part of a reply that is sent again."""

    turn_id: str
    part: int
    status: Literal["pending"] = "pending"


class RedrivenCallback(Contract):
    """A callback that is sent again."""

    turn_id: str
    status: Literal["pending"] = "pending"
