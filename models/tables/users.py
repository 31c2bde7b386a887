"""The directory holds users and who knows whom."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class UserRow(Row):
    """A person for whom a tenant's turns act, or whom they concern."""

    __tablename__ = "users"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    """The caller's own id."""
    name: Mapped[str]
    email: Mapped[str | None]
    timezone: Mapped[str]
    locale: Mapped[str]
    working_hours: Mapped[dict[str, Any]]
    """Weekday -> [start, end] in the user's time zone."""
    scopes: Mapped[list[str]]
    """What the user allows tools to do for them."""
    created_at: Mapped[datetime] = created_now()


class ConnectionRow(Row):
    """Two users who know each other."""

    __tablename__ = "connections"
    __table_args__ = (
        # By bytes, as Python orders them, whatever the database's own order of letters.
        CheckConstraint('a_id < b_id COLLATE "C"', name="order"),
        ForeignKeyConstraint(["tenant_id", "a_id"], ["users.tenant_id", "users.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["tenant_id", "b_id"], ["users.tenant_id", "users.id"], ondelete="CASCADE"),
        UniqueConstraint("tenant_id", "a_id", "b_id"),
        Index(None, "tenant_id", "b_id"),
    )

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    a_id: Mapped[str]
    b_id: Mapped[str]
    status: Mapped[str]
    """`active` or `inactive`."""
