"""Cancellation ends the work on a turn before it is done: somebody asked for it, or its deadline has passed."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

import psycopg
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from turnloom.models.contracts.event import Event, read_events
from turnloom.models.ledger.recovery import LEASE_MS
from turnloom.models.ledger.transitions import call
from turnloom.models.runtime.operators import operator
from turnloom.models.tables.turns import IS_DUE, TurnRow


@dataclass(frozen=True)
class ClosedTurn:
    """A turn in which nothing starts any more, and which still needs its reply."""

    id: UUID
    respond: int | None
    """The turn's fence for the reply; None if the turn was closed before, and somebody holds the fence."""
    events: list[Event]


def close(db: psycopg.Connection, turn_id: UUID, why: Literal["cancelled", "late"]) -> ClosedTurn | None:
    """Stop the work on a turn. Reads end now; a running call with an effect ends by itself. None: the turn is final.

    The audit log records who cancels a turn.
    """
    if why == "late":
        return read_closed(call(db, "close_turn", turn=turn_id, ending=why, superseded_by=None, lease_ms=LEASE_MS))
    by = operator()
    return read_closed(call(db, "cancel_turn", turn=turn_id, key=by.key_id, by=by.name, lease_ms=LEASE_MS))


def read_closed(found: dict[str, Any] | None) -> ClosedTurn | None:
    """Read a closed turn as the ledger's functions return it."""
    return ClosedTurn(UUID(found["turn"]), found["respond"], read_events(found["events"])) if found else None


def find_late(db: Session, grace: timedelta, limit: int) -> list[UUID]:
    """Return turns before their reply whose deadline passed more than `grace` ago, oldest first."""
    query = select(TurnRow.id).where(text(IS_DUE), TurnRow.deadline_at < func.clock_timestamp() - grace)
    return list(db.scalars(query.order_by(TurnRow.deadline_at).limit(limit)))
