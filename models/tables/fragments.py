"""A fragment is a part of a plan that one canvas can express exactly."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, Row


class FragmentRow(Row):
    """A fragment of one generation; it is sent when all of its `needs` are final."""

    __tablename__ = "fragments"
    __table_args__ = (HOT,)

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    generation: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    needs: Mapped[list[str]]
    steps: Mapped[list[str]]
    queue: Mapped[str | None]
    """The queue of a fragment that is a single lane; None for one with branches."""
    inline: Mapped[bool]
    """Whether it holds inline steps only: the process that makes it ready runs it."""
    expression: Mapped[dict[str, Any]]
    sent_at: Mapped[datetime | None]
