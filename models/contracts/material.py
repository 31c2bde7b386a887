"""The material of a reply, as the ledger gives it and the responder takes it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from turnloom.models.contracts.manner import Manner
from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Mode, Stop, Usage
from turnloom.models.contracts.usage import Allowance


@dataclass(frozen=True)
class Material:
    """The material for a turn's reply, and for the decision to plan again before it."""

    tenant_id: UUID
    conversation_id: str
    agent: str
    llm: str | None
    """The language model that the caller named."""
    manner: Manner | None
    message: str
    person: dict[str, Any]
    action: str | None
    synthesis_hint: str | None
    on_error: str
    ending: Stop | None
    """The reason why the work was ended early. After it no language model is called."""
    submitted: bool
    """Whether the plan was the caller's own."""
    stood_in: bool
    """Whether a playbook stood in for the language model's plan, so that nobody has understood the message."""
    confidence: float | None
    """How sure the planner is of its last revision, from 0 to 1."""
    reply: str | None
    """The planner's own answer, if its last revision has no steps."""
    slots: dict[str, Any]
    """The conversation's slots, including those from the turn's message."""
    memory: list[RecalledResult]
    """Results of earlier turns that have not expired."""
    history: list[Exchange]
    """The last exchanges that the conversation's summary does not cover, oldest first."""
    usage: Usage
    allowances: list[Allowance]
    """The limits of the tenant's budget on language-model calls."""
    last_event: int
    mode: Mode | None
    """The requested mode; None if none was."""
    revision: int
    """Revisions of the plan so far."""
    spent_ms: int
    """Time since its planning began."""
    left_ms: int
    """Time until the turn's deadline, and so for all language-model calls of the reply together."""
    steps: list[StepResult]
    """In the order of the turn's plans."""

    @property
    def has_fixed_plan(self) -> bool:
        """Whether no language model drafted the plan. Then none plans again or writes the reply either."""
        return self.submitted or self.stood_in
