"""The backlog is all turns that are not final and wait for our work."""

from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from turnloom.models.tables.turns import IN_BACKLOG, TurnRow


def count(db: Session, at_most: int) -> dict[UUID, int]:
    """Return the backlog of each tenant that has one. Counts at most `at_most` turns in all."""
    counted = select(TurnRow.tenant_id).where(text(IN_BACKLOG)).limit(at_most).subquery()
    query = select(counted.c.tenant_id, func.count()).group_by(counted.c.tenant_id)
    return dict(db.execute(query).all())


def count_handed_out(db: Session, tenant_id: UUID) -> int:
    """Return how many turns of a tenant's backlog have been handed to the planners."""
    query = select(func.count()).where(text(IN_BACKLOG), TurnRow.tenant_id == tenant_id, TurnRow.sent_at.is_not(None))
    return db.scalars(query).one()


def count_by_status(db: Session) -> dict[str, int]:
    """Return the backlog of all tenants, by status."""
    query = select(TurnRow.status, func.count()).where(text(IN_BACKLOG)).group_by(TurnRow.status)
    return dict(db.execute(query).all())
