"""Integrations are accounts of users with outside services."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKeyConstraint, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class AccountRow(Row):
    """A user's account with an outside service."""

    __tablename__ = "accounts"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "user_id"], ["users.tenant_id", "users.id"], ondelete="CASCADE"),
        UniqueConstraint("tenant_id", "user_id", "integration"),
    )

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[str]
    integration: Mapped[str]
    status: Mapped[str]
    """One of `AccountStatus`."""
    settings: Mapped[dict[str, Any]]
    """Settings that are not secret, such as the address of the server."""
    secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Encrypted; None if the service needs none."""
    key_id: Mapped[str | None] = mapped_column(index=True)
    """The key that encrypted it."""
    updated_at: Mapped[datetime] = created_now()
    """When the user connected it last."""
