"""Replies are made from the material that is read here."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Mode, Stop, Usage
from turnloom.models.contracts.usage import Allowance
from turnloom.models.ledger.transitions import call
from turnloom.models.ledger.usage import read_allowances, read_usage
from turnloom.models.tables.replies import ReplyRow

HISTORY = 6
"""Most exchanges that a reply is made with."""


@dataclass(frozen=True)
class Material:
    """The material for a turn's reply."""

    tenant_id: UUID
    conversation_id: str
    agent: str
    message: str
    person: dict[str, Any]
    action: str | None
    synthesis_hint: str | None
    on_error: str
    ending: Stop | None
    """The reason why the work was ended early."""
    submitted: bool
    """Whether the plan was the caller's own."""
    stood_in: bool
    """Whether a playbook stood in for the language model's plan."""
    confidence: float | None
    """How sure the planner is of its last revision."""
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
    """Time until the turn's deadline."""
    steps: list[StepResult]
    """In the order of the turn's plans."""


def gather(db: psycopg.Connection, turn_id: UUID) -> Material | None:
    """Return the material for a turn's reply. None: there is no such turn."""
    found = call(db, "reply_material", turn=turn_id)
    return read_material(found) if found else None


def read_material(found: dict[str, Any]) -> Material:
    """Read the result of `hot.reply_material`."""
    read = {
        "tenant_id": UUID(found["tenant_id"]),
        "usage": read_usage(found["usage"]),
        "allowances": read_allowances(found["allowances"]),
        "memory": [RecalledResult(**result) for result in found["memory"]],
        "history": [Exchange(**exchange) for exchange in found["history"]],
        "steps": [_step_result(step) for step in found["steps"]],
    }
    return Material(**{**found, **read})


def _step_result(found: dict[str, Any]) -> StepResult:
    if found["status"] != "needs_input":
        return StepResult(**found)
    return StepResult(**{**found, "result": None, "asks": (found["result"] or {}).get("needs")})


def of_turn(db: Session, turn_id: UUID) -> ReplyRow | None:
    """Return the reply of a final turn."""
    return db.scalar(select(ReplyRow).where(ReplyRow.turn_id == turn_id))
