"""Read the events of a turn from the ledger."""

from uuid import UUID

from turnloom.models.connections.database import statement
from turnloom.models.contracts.event import Event
from turnloom.models.ledger import events


def recorded_events(turn_id: UUID, after: int = 0) -> list[Event]:
    """Return the turn's events after the one with this number, in order."""
    with statement() as db:
        return events.look(db, [(turn_id, after)])[turn_id, after].events
