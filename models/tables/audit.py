"""The audit log: append-only, hash-chained per conversation."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Row, created_now


class AuditRow(Row):
    """One record. The chain runs over `digest`, so that `content` can be erased and the chain still verifies."""

    __tablename__ = "audit"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    turn_id: Mapped[UUID | None]
    kind: Mapped[str]
    content: Mapped[dict[str, Any] | None]
    """None once erased."""
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    """SHA-256 of the content's text, as Postgres writes jsonb."""
    hash: Mapped[bytes] = mapped_column(LargeBinary)
    """SHA-256 over the record's fields, its digest and the hash before it."""
    at: Mapped[datetime] = created_now()
