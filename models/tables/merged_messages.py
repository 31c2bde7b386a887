"""Merged messages became a part of a turn that another message had opened."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class MergedMessageRow(Row):
    """The id of a merged message, so that the same message again gives the same turn."""

    __tablename__ = "merged_messages"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    channel: Mapped[str] = mapped_column(primary_key=True)
    message_id: Mapped[str] = mapped_column(primary_key=True)
    turn_id: Mapped[UUID]
    body_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    """As in turns."""
    created_at: Mapped[datetime] = created_now()
