"""Replies: what they are made from."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from models.contracts.plan import StepStatus
from models.contracts.turn import Stop


@dataclass(frozen=True)
class EndedStep:
    """How a step stands when its turn is answered."""

    id: str
    tool: str
    args: dict[str, Any]
    """As in the plan: with references."""
    status: StepStatus
    critical: bool
    result: Any
    error: dict[str, Any] | None


@dataclass(frozen=True)
class Material:
    """What there is to answer a turn from."""

    agent: str
    message: str
    person: dict[str, Any]
    action: str | None
    synthesis_hint: str | None
    on_error: str
    ending: Stop | None
    """Why the work was ended before it was done."""
    submitted: bool
    """Whether the plan was the caller's own."""
    usage: dict[str, Any]
    last_event: int
    left_ms: int
    """Time until the turn's deadline."""
    steps: list[EndedStep]
    """In the order of the turn's plans."""


def gather(db: psycopg.Connection, turn_id: UUID) -> Material | None:
    """Return what a turn is to be answered from. None: there is no such turn."""
    row = db.execute("SELECT hot.reply_material(%s)", (turn_id,), prepare=True).fetchone()
    if row is None or row[0] is None:
        return None
    found = row[0]
    return Material(**{**found, "steps": [EndedStep(**step) for step in found["steps"]]})
