"""Events: append one, read a turn's."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import Integer, Uuid, column, select, values
from sqlalchemy.orm import Session

from models.contracts.event import Event, read_events
from models.contracts.turn import FINAL_TURN_STATUSES
from models.tables.events import TurnEventsRow
from models.tables.turns import TurnRow


class Stand(NamedTuple):
    """The progress of a turn."""

    tenant_id: UUID
    last_event: int
    is_final: bool


def note(db: psycopg.Connection, turn_id: UUID, kind: str, data: dict[str, Any]) -> list[Event]:
    """Append an event that comes with no other change."""
    row = db.execute("SELECT hot.note(%s, %s, %s)", (turn_id, kind, Jsonb(data)), prepare=True).fetchone()
    return read_events(row[0]) if row and row[0] is not None else []


def after(db: Session, turn_id: UUID, seq: int) -> list[Event]:
    """Return a turn's events after this one, in order."""
    return list(after_each(db, [(turn_id, seq)]).get((turn_id, seq), []))


def after_each(db: Session, places: Sequence[tuple[UUID, int]]) -> Mapping[tuple[UUID, int], Sequence[Event]]:
    """Return, for each of these places (turn, seq) that is followed by any, the turn's events after it, in order."""
    wanted = values(column("turn_id", Uuid), column("after", Integer), name="wanted").data(list(places))
    query = (
        select(TurnEventsRow, wanted.c.after)
        .join(wanted, (TurnEventsRow.turn_id == wanted.c.turn_id) & (TurnEventsRow.seq > wanted.c.after))
        .order_by(TurnEventsRow.turn_id, TurnEventsRow.seq)
    )
    found: defaultdict[tuple[UUID, int], list[Event]] = defaultdict(list)
    for row, seq in db.execute(query):
        # A reader may have left off within a commit.
        found[row.turn_id, seq] += [event for event in _told(row) if event.seq > seq]
    return found


def stands(db: Session, turn_ids: Sequence[UUID]) -> Mapping[UUID, Stand]:
    """Return how far each of these turns is, in one statement."""
    query = select(TurnRow.id, TurnRow.tenant_id, TurnRow.last_event, TurnRow.status).where(TurnRow.id.in_(turn_ids))
    return {
        turn_id: Stand(tenant_id, last_event, status in FINAL_TURN_STATUSES)
        for turn_id, tenant_id, last_event, status in db.execute(query)
    }


def _told(row: TurnEventsRow) -> list[Event]:
    at = row.at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
    told = [*row.earlier, {"type": row.type, "data": row.data}]
    return read_events({"turn_id": str(row.turn_id), "at": f"{at}Z", "after": row.seq - len(told), "events": told})
