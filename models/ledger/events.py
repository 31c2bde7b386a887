"""Events of a turn are appended and read here."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from turnloom.models.contracts.event import Event, read_events
from turnloom.models.contracts.turn import FINAL_TURN_STATUSES
from turnloom.models.ledger.transitions import call


class Stand(NamedTuple):
    """The progress of a turn."""

    tenant_id: UUID
    last_event: int
    is_final: bool


Place = tuple[UUID, int]
"""A turn and the number of one of its events; 0 stands before the first."""


class Look(NamedTuple):
    """The progress of a turn, and its events after a place."""

    stand: Stand
    events: list[Event]


_LOOK = """
SELECT place.turn_id, place.seq, t.tenant_id, t.last_event, t.status,
       (SELECT json_agg(json_build_object('turn_id', e.turn_id, 'at', hot.rfc3339(e.at),
                                          'after', e.seq - jsonb_array_length(e.earlier) - 1,
                                          'events', e.earlier || jsonb_build_object('type', e.type, 'data', e.data))
                        ORDER BY e.seq)
          FROM turn_events e WHERE e.turn_id = t.id AND e.seq > place.seq)
  FROM unnest(%s::uuid[], %s::int[]) AS place (turn_id, seq) JOIN turns t ON t.id = place.turn_id
"""
_STANDS = "SELECT id, tenant_id, last_event, status FROM turns WHERE id = ANY(%s)"


def note(db: psycopg.Connection, turn_id: UUID, kind: str, data: dict[str, Any]) -> list[Event]:
    """Append an event that no other change comes with."""
    return read_events(call(db, "note", turn=turn_id, type=kind, data=Jsonb(data)))


def look(db: psycopg.Connection, places: Sequence[Place]) -> Mapping[Place, Look]:
    """Return each place's turn, if it exists: its progress, and its events after the place, in order.

    One statement reads everything at the same moment.
    """
    found = db.execute(_LOOK, ([turn_id for turn_id, _ in places], [seq for _, seq in places]), prepare=True)
    return {
        (turn_id, seq): Look(
            Stand(tenant_id, last_event, status in FINAL_TURN_STATUSES),
            # A reader may have stopped in the middle of a commit.
            [event for commit in commits or () for event in read_events(commit) if event.seq > seq],
        )
        for turn_id, seq, tenant_id, last_event, status, commits in found
    }


def stands(db: psycopg.Connection, turn_ids: Sequence[UUID]) -> Mapping[UUID, Stand]:
    """Return the progress of each of these turns, in one statement."""
    found = db.execute(_STANDS, (list(turn_ids),), prepare=True)
    return {
        turn_id: Stand(tenant_id, last_event, status in FINAL_TURN_STATUSES)
        for turn_id, tenant_id, last_event, status in found
    }
