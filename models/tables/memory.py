"""Memory: results of a conversation's tool calls that still hold."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import HOT, JSON, Row


class MemoryRow(Row):
    """The last result of a call. One that has run out means nothing, and goes with the conversation's next one."""

    __tablename__ = "memory"
    __table_args__ = (HOT,)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    tool: Mapped[str] = mapped_column(primary_key=True)
    input_hash: Mapped[str] = mapped_column(primary_key=True)
    """Of the arguments, and of who asked."""
    args: Mapped[dict[str, Any]]
    """With which the call was made: references are filled in."""
    result: Mapped[Any] = mapped_column(type_=JSON, nullable=True)
    turn_id: Mapped[UUID]
    step_id: Mapped[str]
    holds: Mapped[bool] = mapped_column(server_default="true")
    """Whether no call with an effect has ended in the conversation since: that may have made it wrong."""
    at: Mapped[datetime]
    expires_at: Mapped[datetime]
