"""Events record what happened to a turn, in order and without gaps."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class TurnEventsRow(Row):
    """The events of a turn that one commit recorded: the last one, and those before it."""

    __tablename__ = "turn_events"

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    """The number of the last event, assigned under the turn's row lock."""
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    type: Mapped[str]
    data: Mapped[dict[str, Any]]
    earlier: Mapped[list[Any]] = mapped_column(server_default="[]")
    """`{type, data}` of each event before the last one, in order."""
    at: Mapped[datetime] = created_now()
