"""Events: what happened to a turn, in order and without gaps."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Row, created_now


class EventRow(Row):
    """One event; `seq` is handed out under the turn's row lock."""

    __tablename__ = "events"

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    type: Mapped[str]
    data: Mapped[dict[str, Any]]
    at: Mapped[datetime] = created_now()
