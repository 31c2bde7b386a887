"""An explanation is made from the facts gathered here: why a turn makes no progress."""

from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from turnloom.models.contracts.delay_causes import Facts, HeldTurn, OpenStep, Postponed
from turnloom.models.contracts.plan import FINAL_STEP_STATUSES
from turnloom.models.contracts.turn import Priority, TurnStatus
from turnloom.models.ledger import backlog, limits, workers
from turnloom.models.tables.conversations import ConversationRow
from turnloom.models.tables.fragments import FragmentRow
from turnloom.models.tables.steps import StepRow
from turnloom.models.tables.turns import TurnRow

_COLUMNS = (
    StepRow.id,
    StepRow.tool,
    StepRow.queue,
    StepRow.needs,
    StepRow.status,
    StepRow.worker,
    StepRow.started_at,
    StepRow.finished_at,
    StepRow.lease_until,
    StepRow.not_before,
    StepRow.lapses_at,
    StepRow.approval,
    StepRow.error,
    StepRow.unsure,
)


def gather(db: Session, turn: TurnRow, lease: timedelta) -> Facts:
    """Gather the facts about a turn that was read in the same snapshot.

    `lease` is how long a lease lasts, and how long after its last heartbeat a worker counts as living.
    """
    at = cast("datetime", db.scalar(select(func.clock_timestamp())))
    return Facts(
        at=at,
        turn_id=turn.id,
        status=cast("TurnStatus", turn.status),
        since=_since(turn),
        attempt=turn.attempt,
        lease_until=turn.lease_until,
        lease=lease,
        earlier=_earlier(db, turn) if turn.status == "queued" else None,
        held=_held(db, turn) if turn.status == "queued" else None,
        postponed=_postponed(turn) if turn.status in ("planning", "responding") else None,
        steps=_open_steps(db, turn, at) if turn.status in ("running", "waiting_approval") else (),
        slots=workers.slots_by_queue(db, lease),
        is_taken_over=turn.ending == "paused" or turn.author is not None,
        at_work=_at_work(db, turn),
    )


def _since(turn: TurnRow) -> datetime:
    reached = {
        "queued": turn.sent_at,
        "planning": turn.planning_at if turn.lease_until else turn.sent_at,
        "running": turn.planned_at,
        "waiting_approval": turn.waiting_since,
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


def _held(db: Session, turn: TurnRow) -> HeldTurn | None:
    if turn.due_at is None or turn.sent_at is not None:
        return None
    allowed, priority = limits.of(db, turn.tenant_id), cast("Priority", turn.priority)
    if turn.line is not None and turn.lined_up_at is None:
        in_work = backlog.count_of_line(db, turn.line)
        return HeldTurn(turn.due_at, turn.settles_at, "user", priority, in_work, allowed.user_window)
    window = allowed.batch_window if priority == "batch" else allowed.window
    in_work = backlog.count_handed_out(db, turn.tenant_id, priority)
    return HeldTurn(turn.due_at, turn.settles_at, "tenant", priority, in_work, window)


def _at_work(db: Session, turn: TurnRow) -> int:
    query = (
        select(func.count())
        .select_from(TurnRow)
        .where(
            TurnRow.tenant_id == turn.tenant_id,
            TurnRow.status.in_(("planning", "responding")),
            TurnRow.lease_until > func.clock_timestamp(),
            TurnRow.error.is_(None),
        )
    )
    return db.scalar(query) or 0


def _postponed(turn: TurnRow) -> Postponed | None:
    """Return until when the turn is postponed; None if somebody works on it, even if it was postponed before."""
    if turn.error is None or turn.lease_until is None:
        return None
    until = datetime.fromisoformat(turn.error["retry_at"])
    return Postponed(until, turn.error["message"]) if until == turn.lease_until else None


def _open_steps(db: Session, turn: TurnRow, at: datetime) -> list[OpenStep]:
    query = select(*_COLUMNS).where(StepRow.turn_id == turn.id).order_by(StepRow.revision, StepRow.position)
    rows = db.execute(query).all()
    ended = {row.id: row.finished_at for row in rows if row.status in FINAL_STEP_STATUSES}
    held = _held_by_cap(db, turn)
    assert turn.compiled_at is not None
    found = []
    for row in rows:
        is_ready = ended.keys() >= set(row.needs)
        if row.status == "running":
            # The turn does not wait for a step that waits at its worker for another step.
            if row.started_at or is_ready:
                since = row.started_at or turn.compiled_at
                found.append(OpenStep(row.id, row.tool, row.queue, since, row.worker, row.lease_until))
        elif row.status == "waiting_approval":
            asked_at = datetime.fromisoformat(row.approval["asked_at"])
            found.append(OpenStep(row.id, row.tool, row.queue, asked_at, lapses_at=row.lapses_at))
        elif row.not_before and row.not_before > at:
            why = {"not_before": row.not_before, "error": row.error, "unsure": row.unsure}
            found.append(OpenStep(row.id, row.tool, row.queue, row.started_at, **why))
        elif row.id not in ended and row.id not in held and is_ready:
            ready_at = max([turn.compiled_at, *(ended[need] for need in row.needs)])
            found.append(OpenStep(row.id, row.tool, row.queue, ready_at))
    return found


def _held_by_cap(db: Session, turn: TurnRow) -> set[str]:
    """Return the steps that are not sent because others of their turn use up its cap."""
    if turn.max_parallel is None:
        return set()
    unsent = select(FragmentRow.steps).where(
        FragmentRow.turn_id == turn.id, FragmentRow.generation == turn.generation, FragmentRow.sent_at.is_(None)
    )
    return {step for steps in db.scalars(unsent) for step in steps}
