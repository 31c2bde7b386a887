"""A reply is our answer to a turn."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class ReplyRow(Row):
    """The reply of a final turn."""

    __tablename__ = "replies"

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    text: Mapped[str]
    artifacts: Mapped[list[Any]]
    question: Mapped[dict[str, Any] | None]
    grounded: Mapped[bool | None]
    sources: Mapped[list[Any]]
    suggestions: Mapped[list[Any]] = mapped_column(server_default=sql("'[]'"))
    trace: Mapped[dict[str, Any]]
    """Its origin: template or language model, with the versions of the prompts."""
    created_at: Mapped[datetime] = created_now()
