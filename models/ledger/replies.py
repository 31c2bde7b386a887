"""Replies are made from the material that is read here."""

from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.contracts.manner import read_manner
from turnloom.models.contracts.material import Material
from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.ledger.transitions import call
from turnloom.models.ledger.usage import read_allowances, read_usage
from turnloom.models.tables.replies import ReplyRow

HISTORY = 6
"""Most exchanges that a reply is made with."""


def gather(db: psycopg.Connection, turn_id: UUID) -> Material | None:
    """Return the material for a turn's reply. None: there is no such turn."""
    found = call(db, "reply_material", turn=turn_id)
    return read_material(found) if found else None


def read_material(found: dict[str, Any]) -> Material:
    """Read the result of `hot.reply_material`."""
    read = {
        "tenant_id": UUID(found["tenant_id"]),
        "manner": read_manner(found["manner"]),
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
