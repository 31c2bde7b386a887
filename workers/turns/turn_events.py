"""Events of a turn are announced here, after the commit that recorded them.

Each commit that changes a turn is followed by the same three things: the crash point where a drill kills the process,
the announcement of the commit's events, and the messages that the change calls for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

from turnloom.models.connections.database import statement
from turnloom.models.connections.redis import announce
from turnloom.models.contracts.event import Event
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import events
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log

Result = TypeVar("Result")


class Committed:
    """The result of a commit. The block that commits calls it with the ledger's answer."""

    def __init__(self) -> None:
        self.result: object = None

    def __call__(self, result: Result) -> Result:
        """Keep the ledger's answer for what follows the commit, and return it."""
        self.result = result
        return result


@contextmanager
def committing(turn_id: UUID, point: str | None = None) -> Iterator[Committed]:
    """Commit a change of a turn; then reach the crash point, and announce the events of the change.

        with committing(turn.id, "plan.recorded") as committed, statement() as db:
            recorded = committed(plans.record(db, ...))

    Messages that the change calls for are sent after the block. If the ledger's answer is None or False, or if there is
    none, nothing was changed, and nothing follows.
    """
    committed = Committed()
    yield committed
    follow(turn_id, committed.result, point)


def follow(turn_id: UUID, result: object, point: str | None = None) -> None:
    """Do what `committing` does after a commit. `result`: the ledger's answer."""
    if result is None or result is False:
        return
    if point is not None:
        reach(point)
    announce(turn_id, _events_of(result))


def note(turn_id: UUID, event: str, data: dict[str, Any]) -> None:
    """Record an event that no row depends on. If Postgres does not answer, log that and go on."""
    try:
        with committing(turn_id) as committed, statement() as db:
            committed(events.note(db, turn_id, event, data))
    except Unavailable as error:
        log.warning("event.unrecorded", turn_id=str(turn_id), event_type=event, error=error.code)


def _events_of(result: object) -> Sequence[Event]:
    return result if isinstance(result, list) else getattr(result, "events", ())
