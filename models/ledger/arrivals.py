"""The messages that came lately."""

import time
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from turnloom.models.tables.turns import TurnRow


def count(db: Session, tenant_id: UUID, person: str | None, window_s: float, at_most: int) -> int:
    """Return how many turns a tenant, or one person in it, has opened in a window. Counts at most `at_most`."""
    # Ids begin with the time of their making (`models.runtime.ids`), and have an index.
    since = UUID(int=int((time.time() - window_s) * 1_000) << 80)
    lately = select(TurnRow.id).where(TurnRow.id > since, TurnRow.tenant_id == tenant_id)
    if person is not None:
        lately = lately.where(TurnRow.person["id"].astext == person)
    return db.scalars(select(func.count()).select_from(lately.limit(at_most).subquery())).one()
