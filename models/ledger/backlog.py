"""The backlog is all turns that are not final and wait for our work."""

from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from turnloom.models.tables.turns import IN_BACKLOG, IS_TAKEN, TurnRow


def count(db: Session, at_most: int) -> dict[UUID, int]:
    """Return the backlog of each tenant that has one. Counts at most `at_most` turns in all."""
    counted = select(TurnRow.tenant_id).where(text(IN_BACKLOG)).limit(at_most).subquery()
    query = select(counted.c.tenant_id, func.count()).group_by(counted.c.tenant_id)
    return dict(db.execute(query).all())


def count_handed_out(db: Session, tenant_id: UUID, priority: str = "interactive") -> int:
    """Return how many turns of a class of a tenant's have been handed to the planners and need our work."""
    of_tenant = (TurnRow.tenant_id == tenant_id, TurnRow.priority == priority)
    return db.scalars(select(func.count()).where(text(IN_BACKLOG), *of_tenant, TurnRow.sent_at.is_not(None))).one()


def count_of_line(db: Session, line: int) -> int:
    """Return how many turns of a user are in their tenant's line, or handed to the planners and need our work."""
    return db.scalars(select(func.count()).where(text(IS_TAKEN), TurnRow.line == line)).one()


def count_by_class(db: Session) -> dict[tuple[str, ...], int]:
    """Return the backlog of all tenants, by status and priority."""
    query = select(TurnRow.status, TurnRow.priority, func.count()).where(text(IN_BACKLOG))
    rows = db.execute(query.group_by(TurnRow.status, TurnRow.priority)).all()
    return {(status, priority): count for status, priority, count in rows}
