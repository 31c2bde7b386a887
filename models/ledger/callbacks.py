"""Callbacks are claimed, recorded and shown here. Each posts the document of one final turn."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, cast
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger.transitions import call
from turnloom.models.runtime.operators import Operator
from turnloom.models.tables.callbacks import CallbackRow


@dataclass(frozen=True, slots=True)
class ClaimedCallback:
    """A claimed callback and its fence."""

    turn_id: UUID
    tenant_id: UUID
    url: str
    receiver: str
    """Host and port of the URL."""
    attempt: int
    """The fence: only this attempt may record."""
    failures: int
    """Failed attempts since it was queued."""
    now: int
    """The time of the claim by the database's clock, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class CallbackOutcome:
    """The result of an attempt."""

    status: Literal["delivered", "pending", "failed"]
    """`pending`: it is tried again, unless it has been tried for a day."""
    answer: int | None = None
    """The HTTP status of the receiver's answer."""
    error: dict[str, str] | None = None
    wait_ms: int = 0
    """The pause before the next attempt."""


def claim(db: psycopg.Connection, busy: Collection[str], lease_ms: int) -> ClaimedCallback | None:
    """Claim the callback that has been due longest, except for these receivers. None: there is none."""
    found = call(db, "claim_callback", busy=list(busy), lease_ms=lease_ms)
    if found is None:
        return None
    ids = {name: UUID(found[name]) for name in ("turn_id", "tenant_id")}
    return ClaimedCallback(**found | ids)


def record(db: psycopg.Connection, turn_id: UUID, attempt: int, outcome: CallbackOutcome) -> str | None:
    """Record the result of an attempt; return the callback's status. None: the fence is old, nothing was recorded."""
    fields = {name: getattr(outcome, name) for name in ("status", "answer", "error", "wait_ms")}
    return cast("str | None", call(db, "record_callback", turn=turn_id, attempt=attempt, outcome=Jsonb(fields)))


def redrive(db: psycopg.Connection, turn_id: UUID, by: Operator) -> None:
    """Let a callback that was given up be sent again, for another day.

    Raises:
        NotFound: the turn has no callback.
        Conflict: it was not given up.
    """
    status: Any = call(db, "redrive_callback", turn=turn_id, key=by.key_id, by=by.name)
    if status is None:
        raise NotFound(f"turn {turn_id} has no callback")
    if status != "failed":
        raise Conflict(f"the callback of turn {turn_id} is {status}: only one that was given up is sent again")


def first_due(db: psycopg.Connection) -> UUID | None:
    """Return the turn of the callback that has been due longest. None: no callback may be claimed now."""
    query = (
        "SELECT turn_id FROM callbacks WHERE status = 'pending' AND due_at <= clock_timestamp() ORDER BY due_at LIMIT 1"
    )
    row = db.execute(query).fetchone()
    return row[0] if row else None


def of_turn(db: Session, tenant_id: UUID, turn_id: UUID) -> CallbackRow | None:
    """Return a turn's callback; None if it has none, or is not final."""
    query = select(CallbackRow).where(CallbackRow.tenant_id == tenant_id, CallbackRow.turn_id == turn_id)
    return db.scalar(query)
