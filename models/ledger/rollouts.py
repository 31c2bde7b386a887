"""Rollouts are started, read and ended here."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from turnloom.models.contracts.rollout import RolloutOutcome, RolloutReport, RolloutRequest, RolloutView, RunningRollout
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import overrides, quality, tenant_audit
from turnloom.models.ledger.quality import TurnSpan
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.operators import Operator, operator
from turnloom.models.tables.rollouts import RolloutRow
from turnloom.models.tables.tenants import TenantRow

AT_ONCE = 4
"""Most rollouts of a tenant that run at the same time. Each doubles the number of combinations of texts."""


class RolloutEnd(NamedTuple):
    """The end of a rollout."""

    outcome: RolloutOutcome
    by: str
    reason: str | None = None


def start(db: Session, tenant_id: UUID, asked: RolloutRequest, text: str, by: str) -> RolloutRow:
    """Start a rollout of a text that has been checked.

    Raises:
        Conflict: one of the same name runs already, or too many do.
    """
    # One writer at a time, so that two that start at once see each other.
    db.execute(select(TenantRow.id).where(TenantRow.id == tenant_id).with_for_update(key_share=True))
    others = running(db, tenant_id)
    if other := next((each for each in others if each.name == asked.name), None):
        raise Conflict(f"a rollout of {asked.name!r} is running already: {other.id}; stop or promote it first")
    if len(others) >= AT_ONCE:
        raise Conflict(f"{AT_ONCE} rollouts are running already; stop or promote one first")
    row = RolloutRow(
        tenant_id=tenant_id,
        id=new_id(),
        name=asked.name,
        text=text,
        share=asked.share,
        max_worse=asked.max_worse,
        min_turns=asked.min_turns,
        created_by=by,
    )
    db.add(row)
    db.flush()
    told = {**_told(row), "text_sha256": hashlib.sha256(text.encode()).hexdigest(), "share": asked.share}
    tenant_audit.append(db, tenant_id, "rollout.started", told, operator(by))
    return row


def running(db: Session, tenant_id: UUID) -> list[RunningRollout]:
    """Return a tenant's rollouts that have not ended, the oldest first."""
    query = select(RolloutRow).where(RolloutRow.tenant_id == tenant_id, RolloutRow.ended_at.is_(None))
    return [as_running(row) for row in db.scalars(query.order_by(RolloutRow.id))]


def all_running(db: Session) -> Sequence[RolloutRow]:
    """Return the rollouts of all tenants that have not ended."""
    return db.scalars(select(RolloutRow).where(RolloutRow.ended_at.is_(None)).order_by(RolloutRow.id)).all()


def as_running(row: RolloutRow) -> RunningRollout:
    """Return a rollout as planners and responders need it."""
    return RunningRollout(row.id, row.name, row.text, row.share)


def listed(db: Session, tenant_id: UUID, limit: int, before: UUID | None = None) -> Sequence[RolloutRow]:
    """Return a tenant's rollouts, the newest first; with an id, those before it."""
    query = select(RolloutRow).where(RolloutRow.tenant_id == tenant_id)
    query = query.where(RolloutRow.id < before) if before else query
    return db.scalars(query.order_by(RolloutRow.id.desc()).limit(limit)).all()


def get(db: Session, tenant_id: UUID, rollout_id: UUID) -> RolloutRow:
    """Return a tenant's rollout.

    Raises:
        NotFound: there is none of that id.
    """
    row = db.get(RolloutRow, (tenant_id, rollout_id))
    if row is None:
        raise NotFound(f"there is no rollout {rollout_id}")
    return row


def end(db: Session, tenant_id: UUID, rollout_id: UUID, ending: RolloutEnd) -> bool:
    """End a rollout. False: it has ended already. A promoted one makes its text the tenant's own."""
    row = db.scalar(
        update(RolloutRow)
        .where(RolloutRow.tenant_id == tenant_id, RolloutRow.id == rollout_id, RolloutRow.ended_at.is_(None))
        .values(ended_at=func.clock_timestamp(), outcome=ending.outcome, ended_by=ending.by, reason=ending.reason)
        .returning(RolloutRow)
    )
    if row is None:
        return False
    by = Operator() if ending.outcome == "taken_back" else operator(ending.by)
    told = _told(row) | ({"reason": ending.reason} if ending.reason else {})
    tenant_audit.append(db, tenant_id, f"rollout.{ending.outcome}", told, by)
    if ending.outcome == "promoted":
        overrides.write(db, tenant_id, row.name, row.text, ending.by)
    return True


def end_by_hand(db: Session, tenant_id: UUID, rollout_id: UUID, ending: RolloutEnd) -> RolloutRow:
    """End a rollout that somebody names.

    Raises:
        NotFound: there is none of that id.
        Conflict: it has ended already.
    """
    found = get(db, tenant_id, rollout_id)
    if not end(db, tenant_id, rollout_id, ending):
        db.refresh(found)
        raise Conflict(f"the rollout has ended already: {found.outcome}")
    db.refresh(found)
    return found


def _told(row: RolloutRow) -> dict[str, Any]:
    return {"rollout": str(row.id), "name": row.name}


def view(row: RolloutRow) -> RolloutView:
    """Return a rollout as it is shown."""
    fields = {name: getattr(row, name) for name in RolloutView.model_fields if name != "id"}
    return RolloutView(id=str(row.id), **fields)


def report(db: Session, tenant_id: UUID, rollout_id: UUID) -> RolloutReport:
    """Return a rollout, and how the turns that were received while it ran went with the new text and the old one.

    Raises:
        NotFound: there is none of that id.
    """
    row = get(db, tenant_id, rollout_id)
    span = TurnSpan(row.created_at, row.ended_at or datetime.now(UTC))
    found = quality.sides(db, tenant_id, as_running(row), span)
    return RolloutReport(rollout=view(row), new=found.new, old=found.old)
