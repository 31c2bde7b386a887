"""Events: append one, read a turn's."""

from datetime import UTC
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from models.contracts.event import Event, read_events
from models.tables.events import EventRow


def note(db: psycopg.Connection, turn_id: UUID, kind: str, data: dict[str, Any]) -> list[Event]:
    """Append an event that comes with no other change."""
    row = db.execute("SELECT hot.note(%s, %s, %s)", (turn_id, kind, Jsonb(data)), prepare=True).fetchone()
    return read_events(row[0]) if row and row[0] is not None else []


def after(db: Session, turn_id: UUID, seq: int) -> list[Event]:
    """Return a turn's events after this one, in order."""
    query = select(EventRow).where(EventRow.turn_id == turn_id, EventRow.seq > seq).order_by(EventRow.seq)
    return [Event(seq=row.seq, type=row.type, data=_common(row) | row.data) for row in db.scalars(query)]


def _common(row: EventRow) -> dict[str, str]:
    at = row.at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
    return {"turn_id": str(row.turn_id), "at": f"{at}Z"}
