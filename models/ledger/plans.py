"""Plans: record a revision with its steps and fragments, read them again."""

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from models.contracts.event import Event, read_events
from models.contracts.plan import PLAN_FORMAT, Plan
from models.contracts.turn import Usage
from models.tables.plans import PlanRow


@dataclass(frozen=True)
class NewPlan:
    """A validated plan, compiled."""

    plan: Plan
    source: Literal["llm", "caller"]
    trace: dict[str, Any]
    """How it came about."""
    steps: list[dict[str, Any]]
    """Columns of `StepRow`, one entry a step."""
    fragments: list[dict[str, Any]]
    """Columns of `FragmentRow`, one entry a fragment."""
    placement: str
    """How its steps are laid on workers."""
    usage: Usage


def record(db: psycopg.Connection, turn_id: UUID, attempt: int, new: NewPlan) -> list[Event] | None:
    """Record a plan with its steps and fragments; those without needs count as sent. None: the fence is old."""
    document = {
        "format": PLAN_FORMAT,
        "source": new.source,
        "document": new.plan.model_dump(mode="json", exclude_none=True),
        "trace": new.trace,
    }
    usage = new.usage.model_dump()
    row = db.execute(
        "SELECT hot.record_plan(%s, %s, %s, %s, %s, %s, %s)",
        (turn_id, attempt, Jsonb(document), new.placement, Jsonb(new.steps), Jsonb(new.fragments), Jsonb(usage)),
        prepare=True,
    ).fetchone()
    return read_events(row[0]) if row and row[0] is not None else None


def of_turn(db: Session, turn_id: UUID) -> list[PlanRow]:
    """Return the revisions of a turn's plan, oldest first."""
    return list(db.scalars(select(PlanRow).where(PlanRow.turn_id == turn_id).order_by(PlanRow.revision)))
