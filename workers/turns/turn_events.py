"""Turn events noted here record what happens during a turn; no row depends on them."""

from typing import Any
from uuid import UUID

from turnloom.models.connections.database import statement
from turnloom.models.connections.redis import announce
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import events
from turnloom.models.runtime.logging import log


def note(turn_id: UUID, event: str, data: dict[str, Any]) -> None:
    """Record an event and announce it. If Postgres does not answer, log that and go on."""
    try:
        with statement() as db:
            noted = events.note(db, turn_id, event, data)
        announce(turn_id, noted)
    except Unavailable as error:
        log.warning("event.unrecorded", turn_id=str(turn_id), event_type=event, error=error.code)
