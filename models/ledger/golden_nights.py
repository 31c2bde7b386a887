"""Golden nights: which golden conversations were held in which night, and which of them passed."""

from collections.abc import Sequence
from datetime import date, timedelta
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.tables.quality import GoldenNightRow

_LOST_AFTER = timedelta(minutes=30)
"""After this time a conversation without an outcome is held again: its worker was lost."""


def claim(db: Session, tenant_id: UUID, day: date, names: Sequence[str]) -> str | None:
    """Claim the first of these conversations that nobody has held, or holds, in this night. None: there is none."""
    begun = select(GoldenNightRow.name).where(
        GoldenNightRow.tenant_id == tenant_id,
        GoldenNightRow.day == day,
        GoldenNightRow.passed.is_not(None) | (GoldenNightRow.begun_at > func.clock_timestamp() - _LOST_AFTER),
    )
    taken = set(db.scalars(begun))
    return next((name for name in names if name not in taken and _is_mine(db, tenant_id, day, name)), None)


def _is_mine(db: Session, tenant_id: UUID, day: date, name: str) -> bool:
    """Take a conversation, unless somebody else has taken it at the same moment."""
    new = insert(GoldenNightRow).values(tenant_id=tenant_id, day=day, name=name)
    taken = new.on_conflict_do_update(
        index_elements=["tenant_id", "day", "name"],
        set_={"begun_at": func.clock_timestamp()},
        where=GoldenNightRow.passed.is_(None) & (GoldenNightRow.begun_at <= func.clock_timestamp() - _LOST_AFTER),
    )
    return db.scalar(taken.returning(GoldenNightRow.name)) is not None


def record(db: Session, tenant_id: UUID, day: date, name: str, difference: str | None) -> None:
    """Record how a conversation went. `difference`: why it did not pass."""
    db.execute(
        update(GoldenNightRow)
        .where(GoldenNightRow.tenant_id == tenant_id, GoldenNightRow.day == day, GoldenNightRow.name == name)
        .values(passed=difference is None, difference=difference)
    )


def held(db: Session, tenant_id: UUID, since: date) -> Sequence[GoldenNightRow]:
    """Return the conversations with an outcome, by night and name."""
    query = select(GoldenNightRow).where(
        GoldenNightRow.tenant_id == tenant_id, GoldenNightRow.day >= since, GoldenNightRow.passed.is_not(None)
    )
    return db.scalars(query.order_by(GoldenNightRow.day, GoldenNightRow.name)).all()
