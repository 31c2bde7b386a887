"""Overrides are a tenant's own texts that replace those shipped under prompts/."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class OverrideRow(Row):
    """One change. Rows are only added: the newest one of each name counts."""

    __tablename__ = "overrides"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    """Counts the tenant's changes, from 1."""
    name: Mapped[str]
    """The text that it replaces: a path under prompts/ without its ending."""
    text: Mapped[str | None]
    """None: the tenant's own text was removed."""
    created_by: Mapped[str]
    created_at: Mapped[datetime] = created_now()
