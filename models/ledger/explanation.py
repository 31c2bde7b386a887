"""Explanation: the facts about a turn that tell why it is not further on."""

from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models.contracts.plan import FINAL_STEP_STATUSES
from models.contracts.turn import TurnStatus
from models.explaining import Facts, OpenStep
from models.ledger import workers
from models.tables.conversations import ConversationRow
from models.tables.steps import StepRow
from models.tables.turns import TurnRow

_COLUMNS = (
    StepRow.id, StepRow.tool, StepRow.queue, StepRow.needs, StepRow.status, StepRow.worker, StepRow.started_at,
    StepRow.finished_at, StepRow.lease_until,
)  # fmt: skip


def gather(db: Session, turn: TurnRow, lease: timedelta) -> Facts:
    """Gather the facts about a turn that was read in the same snapshot.

    `lease` is how long a lease lasts, and how long after its last heartbeat a worker counts as living.
    """
    return Facts(
        at=cast("datetime", db.scalar(select(func.clock_timestamp()))),
        turn_id=turn.id,
        status=cast("TurnStatus", turn.status),
        since=_since(turn),
        attempt=turn.attempt,
        lease_until=turn.lease_until,
        lease=lease,
        earlier=_earlier(db, turn) if turn.status == "queued" else None,
        steps=_open_steps(db, turn) if turn.status == "running" else (),
        slots=workers.slots_by_queue(db, lease),
    )


def _since(turn: TurnRow) -> datetime:
    reached = {
        "queued": turn.sent_at,
        "planning": turn.planning_at,
        "running": turn.planned_at,
        "responding": turn.responding_at,
    }
    return reached.get(turn.status, turn.finished_at) or turn.created_at


def _earlier(db: Session, turn: TurnRow) -> tuple[UUID, TurnStatus] | None:
    active = (
        select(TurnRow.id, TurnRow.status)
        .join(ConversationRow, ConversationRow.active_turn_id == TurnRow.id)
        .where(
            ConversationRow.tenant_id == turn.tenant_id,
            ConversationRow.id == turn.conversation_id,
            TurnRow.tenant_id == turn.tenant_id,
            TurnRow.id != turn.id,
        )
    )
    found = db.execute(active).one_or_none()
    return (found.id, cast("TurnStatus", found.status)) if found else None


def _open_steps(db: Session, turn: TurnRow) -> list[OpenStep]:
    query = select(*_COLUMNS).where(StepRow.turn_id == turn.id).order_by(StepRow.revision, StepRow.position)
    rows = db.execute(query).all()
    ended = {row.id: row.finished_at for row in rows if row.status in FINAL_STEP_STATUSES}
    assert turn.compiled_at is not None
    found = []
    for row in rows:
        if row.status == "running":
            found.append(OpenStep(row.id, row.tool, row.queue, row.started_at, row.worker, row.lease_until))
        elif row.id not in ended and ended.keys() >= set(row.needs):
            ready_at = max([turn.compiled_at, *(ended[need] for need in row.needs)])
            found.append(OpenStep(row.id, row.tool, row.queue, ready_at, worker=None, lease_until=None))
    return found
