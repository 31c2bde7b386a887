"""Whole turns: what is shown of a turn, read for many at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models.contracts.turn import FINAL_TURN_STATUSES
from models.tables.plans import PlanRow
from models.tables.replies import ReplyRow
from models.tables.steps import StepRow
from models.tables.turns import TurnRow


@dataclass
class WholeTurn:
    """A turn with all that belongs to it."""

    turn: TurnRow
    plans: list[PlanRow] = field(default_factory=list)
    """Its revisions, oldest first."""
    steps: list[StepRow] = field(default_factory=list)
    """In the order of its plans."""
    reply: ReplyRow | None = None


def read(db: Session, turn_ids: Sequence[UUID]) -> Mapping[UUID, WholeTurn]:
    """Return those of the turns that there are, of whichever tenant; four statements at most, however many they are."""
    found = {row.id: WholeTurn(row) for row in db.scalars(select(TurnRow).where(TurnRow.id.in_(turn_ids)))}
    if begun := [each.turn.id for each in found.values() if each.turn.begun_at]:
        for plan in db.scalars(select(PlanRow).where(PlanRow.turn_id.in_(begun)).order_by(PlanRow.revision)):
            found[plan.turn_id].plans.append(plan)
        steps = select(StepRow).where(StepRow.turn_id.in_(begun)).order_by(StepRow.revision, StepRow.position)
        for step in db.scalars(steps):
            found[step.turn_id].steps.append(step)
    if final := [each.turn.id for each in found.values() if each.turn.status in FINAL_TURN_STATUSES]:
        for reply in db.scalars(select(ReplyRow).where(ReplyRow.turn_id.in_(final))):
            found[reply.turn_id].reply = reply
    return found
