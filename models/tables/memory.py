"""Memory holds results of a conversation's tool calls."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, JSON, Row


class MemoryRow(Row):
    """The last result of a call. An expired result has no effect and is deleted with the conversation's next one."""

    __tablename__ = "memory"
    __table_args__ = (HOT,)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    tool: Mapped[str] = mapped_column(primary_key=True)
    input_hash: Mapped[str] = mapped_column(primary_key=True)
    """Hash of the arguments and of the person who asked."""
    args: Mapped[dict[str, Any]]
    """The arguments of the call, with references filled in."""
    result: Mapped[Any] = mapped_column(type_=JSON, nullable=True)
    turn_id: Mapped[UUID]
    step_id: Mapped[str]
    holds: Mapped[bool] = mapped_column(server_default="true")
    """Whether it stands in for the same call. False for a call with an effect, and for what was read before one ended:
    that may have made it wrong."""
    at: Mapped[datetime]
    expires_at: Mapped[datetime]
