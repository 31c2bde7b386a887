"""The messages that came lately."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from turnloom.models.runtime.ids import first_id
from turnloom.models.tables.turns import TurnRow


def count(db: Session, tenant_id: UUID, person: str | None, window_s: float, at_most: int) -> int:
    """Return how many turns a tenant, or one person in it, has opened in a window. Counts at most `at_most`."""
    # Ids have an index, and times have none.
    since = first_id(datetime.now(UTC) - timedelta(seconds=window_s))
    lately = select(TurnRow.id).where(TurnRow.id >= since, TurnRow.tenant_id == tenant_id)
    if person is not None:
        lately = lately.where(TurnRow.person["id"].astext == person)
    return db.scalars(select(func.count()).select_from(lately.limit(at_most).subquery())).one()
