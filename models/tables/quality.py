"""What is kept of how turns and golden conversations went, for longer than the turns are kept."""

from datetime import date, datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class QualityDayRow(Row):
    """The figures of the turns with one agent that a tenant received on one UTC day. It holds no text of a turn.

    There is a line for all of them, whose version is empty, and one for each text and language model that took part.
    """

    __tablename__ = "quality_days"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    agent: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[str] = mapped_column(primary_key=True)
    turns: Mapped[int] = mapped_column(BigInteger)
    failed: Mapped[int] = mapped_column(BigInteger)
    plans: Mapped[int] = mapped_column(BigInteger)
    valid_plans: Mapped[int] = mapped_column(BigInteger)
    tool_calls: Mapped[int] = mapped_column(BigInteger)
    tool_successes: Mapped[int] = mapped_column(BigInteger)
    checked: Mapped[int] = mapped_column(BigInteger)
    grounded: Mapped[int] = mapped_column(BigInteger)
    questions: Mapped[int] = mapped_column(BigInteger)
    first_word_p50_ms: Mapped[float | None]
    first_word_p95_ms: Mapped[float | None]
    cost: Mapped[float]
    unpriced_turns: Mapped[int] = mapped_column(BigInteger)
    up: Mapped[int] = mapped_column(BigInteger)
    down: Mapped[int] = mapped_column(BigInteger)
    computed_at: Mapped[datetime] = created_now()


class GoldenNightRow(Row):
    """A golden conversation that is held in one night, by the tenant whose key the settings name."""

    __tablename__ = "golden_nights"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    """Agent and name."""
    begun_at: Mapped[datetime] = created_now()
    passed: Mapped[bool | None]
    """None while it is held, or if its worker was lost."""
    difference: Mapped[str | None]
    """Why it did not pass."""
