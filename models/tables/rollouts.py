"""Rollouts give a share of a tenant's conversations a new text."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.contracts.rollout import RolloutOutcome
from turnloom.models.tables.base import Row, created_now

IS_RUNNING = "ended_at IS NULL"
"""Condition of rollouts that run. Literal, so that the index with this condition is used."""


class RolloutRow(Row):
    """A rollout. Of one name, one runs at a time."""

    __tablename__ = "rollouts"
    __table_args__ = (
        Index("rollouts_running_idx", "tenant_id", "name", unique=True, postgresql_where=text(IS_RUNNING)),
    )

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str]
    """The text that it replaces: a path under prompts/ without its ending."""
    text: Mapped[str]
    share: Mapped[float]
    max_worse: Mapped[float]
    min_turns: Mapped[int]
    created_by: Mapped[str]
    created_at: Mapped[datetime] = created_now()
    ended_at: Mapped[datetime | None]
    outcome: Mapped[RolloutOutcome | None] = mapped_column(Text)
    ended_by: Mapped[str | None]
    reason: Mapped[str | None]
