"""The sim pack's records, with which load tests and drills count across processes."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class SimWriteRow(Row):
    """A value that `sim.write` has written: once for each idempotency key."""

    __tablename__ = "sim_writes"

    key: Mapped[str] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    turn_id: Mapped[UUID]
    step_id: Mapped[str]
    value: Mapped[Any] = mapped_column(type_=JSONB(none_as_null=True), nullable=True)
    created_at: Mapped[datetime] = created_now()


class SimCallRow(Row):
    """The number of calls of `sim.flaky` for a step."""

    __tablename__ = "sim_calls"

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    step_id: Mapped[str] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    calls: Mapped[int]
