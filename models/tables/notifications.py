"""Notifications are messages to users beside the replies to their turns."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class NotificationRow(Row):
    """Something that a user should see, and may settle."""

    __tablename__ = "notifications"
    __table_args__ = (Index(None, "tenant_id", "user_id", "id"),)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[str]
    kind: Mapped[str]
    """Its kind, such as `meeting.confirmed`."""
    title: Mapped[str]
    body: Mapped[str]
    about: Mapped[dict[str, Any]]
    """Its subject, for programs."""
    status: Mapped[str]
    """`open` or `resolved`."""
    resolution: Mapped[str | None]
    """How it was settled, in a few words."""
    conversation_id: Mapped[str | None]
    """The conversation that it comes from; erasing that erases it too."""
    resolved_in: Mapped[str | None]
    """The conversation in which it was settled."""
    created_at: Mapped[datetime] = created_now()
    resolved_at: Mapped[datetime | None]
