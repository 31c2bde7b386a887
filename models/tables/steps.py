"""A step is one tool call, with its claim and its outcome."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, JSON, Row

IS_UNKNOWN = "status = 'unknown'"
"""Condition of steps that an operator must decide. Literal, so that the index with this condition is used."""
IS_WAITING = "status = 'waiting_approval'"
"""Condition of steps that wait for a person's decision. Literal for the same reason."""


class StepRow(Row):
    """A step of a turn. `attempt` is its fence: only the claim with this number may record."""

    __tablename__ = "steps"
    __table_args__ = (
        Index("steps_leased_idx", "lease_until", postgresql_where=text("status = 'running'")),
        Index("steps_unknown_idx", "finished_at", postgresql_where=text(IS_UNKNOWN)),
        Index("steps_waiting_idx", "lapses_at", postgresql_where=text(IS_WAITING)),
        HOT,
    )

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    revision: Mapped[int]
    """The revision that holds it; 0: it was started early, and no plan holds it (yet)."""
    position: Mapped[int]
    """Place in the plan's list."""
    tool: Mapped[str]
    args: Mapped[dict[str, Any]]
    needs: Mapped[list[str]]
    """Steps that must be final first, including those that references imply."""
    inputs: Mapped[list[str]]
    """The needs whose results the arguments refer to."""
    effect: Mapped[str]
    queue: Mapped[str]
    inline: Mapped[bool]
    critical: Mapped[bool]
    run_if: Mapped[dict[str, Any] | None]
    fallbacks: Mapped[list[Any]]
    on_need_error: Mapped[str]
    timeout_ms: Mapped[int]
    copy_of: Mapped[str | None]
    """The earlier step of the plan with the same call, which is also in `needs`: this step gets its outcome."""
    status: Mapped[str] = mapped_column(server_default="pending")
    attempt: Mapped[int] = mapped_column(server_default="0")
    lease_until: Mapped[datetime | None]
    unsure: Mapped[bool] = mapped_column(server_default="false")
    """Whether a call with an effect was lost: ask the backend for its outcome before calling again."""
    not_before: Mapped[datetime | None]
    """Parked until then; after that, recovery sends the step."""
    parked: Mapped[int] = mapped_column(server_default="0")
    """Claims that were given back without an outcome."""
    approval: Mapped[dict[str, Any] | None]
    """The question to a person, `args, shown, args_hash, asked_at, lapses_at`, and the decision: `decision, reason, by,
    key_id, decided_at`. `shown` are the arguments with what the tool hides masked."""
    lapses_at: Mapped[datetime | None]
    """When the time for approval is over."""
    worker: Mapped[str | None]
    cache: Mapped[str | None]
    """Why no call was made. `memory`: its result was memoised; `shared`: it was fetched for another step."""
    input_hash: Mapped[str | None]
    """Hash of the call as it was made, if it has an effect or its tool's results are memoised."""
    ready_at: Mapped[datetime | None]
    """When its last need ended."""
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    result: Mapped[Any] = mapped_column(type_=JSON, nullable=True)
    error: Mapped[dict[str, Any] | None]
