"""Tenants are our customers, who have keys to the API."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class TenantRow(Row):
    """A customer. Everything else belongs to one."""

    __tablename__ = "tenants"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    budget: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """The budget of its turns for language models: the fields of `Budget` that set a limit."""
    limits: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Its own limits: the fields of `Limits` that differ from the deployment's."""
    created_at: Mapped[datetime] = created_now()
    audit_seq: Mapped[int] = mapped_column(server_default="0")
    """The end of its own audit chain: what was done to it, and belongs to no conversation."""
    audit_hash: Mapped[bytes] = mapped_column(LargeBinary, server_default="")


class KeyRow(Row):
    """A key to the API. Only its SHA-256 digest is kept."""

    __tablename__ = "keys"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    scopes: Mapped[list[str]]
    development: Mapped[bool] = mapped_column(server_default="false")
    """Whether it is the embedded stack's own key, which has no rate or backlog limit."""
    created_at: Mapped[datetime] = created_now()
    revoked_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    """From when on it is not known any more. Null: never."""
    last_used_at: Mapped[datetime | None]
    """When it was used last, to a minute. Null: never."""
