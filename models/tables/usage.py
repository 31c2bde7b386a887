"""Usage holds the calls of language models, and the sums that budgets are compared with."""

from datetime import date, datetime
from uuid import UUID

from sqlalchemy import BigInteger, Numeric, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, Row, created_now


class LlmCallRow(Row):
    """One call of a language model for a turn. It holds no text, and stays when its conversation is erased."""

    __tablename__ = "llm_calls"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    """Place among the turn's calls as they were recorded, from 1."""
    conversation_id: Mapped[str]
    purpose: Mapped[str]
    model: Mapped[str]
    prompt_tokens: Mapped[int]
    cached_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    cost: Mapped[float | None] = mapped_column(Numeric(asdecimal=False))
    duration_ms: Mapped[float]
    finish_reason: Mapped[str]
    at: Mapped[datetime] = created_now()


class UsageDayRow(Row):
    """A tenant's spending on a language model by one agent, over the turns received on one UTC day.

    Each connection counts in its own row, its slot, so that none waits for another. Slot 0 has the sum.
    """

    __tablename__ = "usage_days"
    __table_args__ = (HOT,)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    agent: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    slot: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    llm_calls: Mapped[int] = mapped_column(BigInteger)
    prompt_tokens: Mapped[int] = mapped_column(BigInteger)
    cached_tokens: Mapped[int] = mapped_column(BigInteger)
    completion_tokens: Mapped[int] = mapped_column(BigInteger)
    cost: Mapped[float] = mapped_column(Numeric(asdecimal=False))
    """Cost of the calls whose price is known."""
    unpriced_calls: Mapped[int] = mapped_column(BigInteger)
