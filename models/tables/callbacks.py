"""Callbacks are documents of final turns on their way to the addresses that callers gave; secrets sign them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, LargeBinary, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, Row, created_now

IS_PENDING = "status = 'pending'"
"""Condition of callbacks that are still to be sent. Literal, so that the index with this condition is used by every
query plan."""
IS_GIVEN_UP = "status = 'failed'"
"""Condition of callbacks that an operator may send again. Literal for the same reason."""
IS_CURRENT = "expires_at IS NULL"
"""Condition of a tenant's newest secret."""


class CallbackRow(Row):
    """The callback of a final turn. While it is pending, this row is the outbox."""

    __tablename__ = "callbacks"
    __table_args__ = (
        Index("callbacks_pending_idx", "due_at", postgresql_where=text(IS_PENDING)),
        Index("callbacks_given_up_idx", "tenant_id", "finished_at", postgresql_where=text(IS_GIVEN_UP)),
        HOT,
    )

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    url: Mapped[str]
    receiver: Mapped[str]
    """Host and port of the URL, as they are written there."""
    status: Mapped[str]
    """`pending`, `delivered` or `failed`."""
    attempt: Mapped[int] = mapped_column(server_default="0")
    """The fence of sending: only this attempt may record."""
    failures: Mapped[int] = mapped_column(server_default="0")
    """Failed attempts since it was queued."""
    due_at: Mapped[datetime | None]
    """When it may be claimed. A claim moves it to the end of its lease; None once it is final."""
    answer: Mapped[int | None]
    """The HTTP status of the last answer."""
    error: Mapped[dict[str, Any] | None]
    """Why the last attempt failed."""
    queued_at: Mapped[datetime]
    """When its turn became final, or an operator sent it again. It is tried for a day."""
    finished_at: Mapped[datetime | None]


class CallbackSecretRow(Row):
    """A secret that signs a tenant's callbacks. After a rotation the one before signs beside it for a while."""

    __tablename__ = "callback_secrets"
    __table_args__ = (
        Index("callback_secrets_current_idx", "tenant_id", unique=True, postgresql_where=text(IS_CURRENT)),
    )

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The secret, encrypted."""
    key_id: Mapped[str | None] = mapped_column(index=True)
    """The key that encrypted it."""
    created_at: Mapped[datetime] = created_now()
    shown_at: Mapped[datetime | None]
    """When an operator was shown it; that happens once."""
    expires_at: Mapped[datetime | None]
    """Until when it signs; None for the newest."""
