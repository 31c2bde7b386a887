"""Feedback is what users think of the replies to their turns."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.contracts.feedback import Rating
from turnloom.models.tables.base import Row, created_now


class FeedbackRow(Row):
    """A user's last word about a turn."""

    __tablename__ = "feedback"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(primary_key=True)
    """The caller's own id of the user; empty if the turn names none."""
    rating: Mapped[Rating] = mapped_column(Text)
    comment: Mapped[str | None]
    at: Mapped[datetime] = created_now()
