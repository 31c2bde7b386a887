"""Console sessions are sign-ins of people at the console, each with a key to the API."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class ConsoleSessionRow(Row):
    """A sign-in. It ends with its key. Only the SHA-256 digest of its token, which the cookie holds, is kept."""

    __tablename__ = "console_sessions"

    digest: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), index=True)
    key_id: Mapped[UUID] = mapped_column(ForeignKey("keys.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = created_now()
    expires_at: Mapped[datetime]
