"""Steps: one tool call each, with its claim and its outcome."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import HOT, JSON, Row

IS_UNKNOWN = "status = 'unknown'"
"""Said of steps that an operator has to decide. Literal, so that the index of this condition is used."""
IS_WAITING = "status = 'waiting_approval'"
"""Said of steps that wait for a person's decision. Literal for the same reason."""


class StepRow(Row):
    """A step of a turn. `attempt` is its fence: only the claim that handed it out may record."""

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
    """Of the plan that holds it; 0: it was started early, and no plan holds it (yet)."""
    position: Mapped[int]
    """Place in the plan's list."""
    tool: Mapped[str]
    args: Mapped[dict[str, Any]]
    needs: Mapped[list[str]]
    """Steps that must be final first, including those that references imply."""
    inputs: Mapped[list[str]]
    """Those of the needs whose results the arguments refer to."""
    effect: Mapped[str]
    queue: Mapped[str]
    inline: Mapped[bool]
    critical: Mapped[bool]
    run_if: Mapped[dict[str, Any] | None]
    fallbacks: Mapped[list[Any]]
    on_need_error: Mapped[str]
    timeout_ms: Mapped[int]
    copy_of: Mapped[str | None]
    """The same call earlier in the plan, which is among the needs: this step has its outcome."""
    status: Mapped[str] = mapped_column(server_default="pending")
    attempt: Mapped[int] = mapped_column(server_default="0")
    lease_until: Mapped[datetime | None]
    unsure: Mapped[bool] = mapped_column(server_default="false")
    """A call with an effect was lost: ask the backend what became of it before calling again."""
    not_before: Mapped[datetime | None]
    """Parked until then; once it has come, recovery sends the step."""
    parked: Mapped[int] = mapped_column(server_default="0")
    """Claims that were given back without an outcome."""
    approval: Mapped[dict[str, Any] | None]
    """What a person is asked, `args, args_hash, asked_at, lapses_at`, and has decided: `decision, reason, by, key_id,
    decided_at`."""
    lapses_at: Mapped[datetime | None]
    """When the answer comes too late."""
    worker: Mapped[str | None]
    cache: Mapped[str | None]
    """Why no call was made. `memory`: its result was remembered; `shared`: it was fetched for another step."""
    input_hash: Mapped[str | None]
    """Of the call as it was made, where it has an effect or its tool's results are remembered."""
    ready_at: Mapped[datetime | None]
    """When its last need had ended."""
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    result: Mapped[Any] = mapped_column(type_=JSON, nullable=True)
    error: Mapped[dict[str, Any] | None]
