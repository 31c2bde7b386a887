"""Events: append one, read a turn's."""

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from models.contracts.event import Event, read_events
from models.contracts.turn import FINAL_TURN_STATUSES
from models.tables.events import EventRow


class Stand(NamedTuple):
    """How far a turn is."""

    last_event: int
    is_final: bool


def note(db: psycopg.Connection, turn_id: UUID, kind: str, data: dict[str, Any]) -> list[Event]:
    """Append an event that comes with no other change."""
    row = db.execute("SELECT hot.note(%s, %s, %s)", (turn_id, kind, Jsonb(data)), prepare=True).fetchone()
    return read_events(row[0]) if row and row[0] is not None else []


def after(db: Session, turn_id: UUID, seq: int) -> list[Event]:
    """Return a turn's events after this one, in order."""
    query = select(EventRow).where(EventRow.turn_id == turn_id, EventRow.seq > seq).order_by(EventRow.seq)
    return [Event(seq=row.seq, type=row.type, data=_common(row) | row.data) for row in db.scalars(query)]


def stands(db: psycopg.Connection, turn_ids: Sequence[UUID]) -> Mapping[UUID, Stand]:
    """Return how far each of these turns is, in one statement."""
    rows = db.execute("SELECT id, last_event, status FROM turns WHERE id = ANY (%s)", (turn_ids,), prepare=True)
    return {turn_id: Stand(last_event, status in FINAL_TURN_STATUSES) for turn_id, last_event, status in rows}


def _common(row: EventRow) -> dict[str, str]:
    at = row.at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
    return {"turn_id": str(row.turn_id), "at": f"{at}Z"}
