"""Hand work to a queue, after the commit that recorded it. The recorded row is the outbox.

A broker that is out delays a turn and loses nothing: the failure is logged, and the sweep sends again.
"""

from datetime import timedelta
from uuid import UUID

from kombu.exceptions import OperationalError

from models.crash_points import reach
from models.database import transaction
from models.ledger import workers
from models.ledger.control import ClosedTurn
from models.logging import log
from models.redis import Failed, announce
from workers.app import app

PUBLISH_ERRORS: tuple[type[BaseException], ...] = (OperationalError, OSError, Failed)
"""What publishing fails with when the broker is out."""


ALIVE = timedelta(seconds=6)
"""A worker that has missed three heartbeats counts as gone."""


def dispatch_turn(turn_id: UUID) -> None:
    """Put a turn on the planners' queue."""
    send("plan_turn", turn_id, queue="plan")


def dispatch_reply(closed: ClosedTurn) -> None:
    """Tell the readers of a closed turn, and have it answered."""
    reach("turn.closed")
    announce(closed.id, closed.events)
    if closed.respond is not None:
        send("respond", closed.id, closed.respond, queue="respond")


def send(task: str, turn_id: UUID, *arguments: int, queue: str) -> None:
    """Send one task by name. Its result is never asked for."""
    try:
        app.send_task(
            task,
            (str(turn_id), *arguments),
            queue=queue,
            retry=False,
            ignore_result=True,
            argsrepr=str(turn_id),
            kwargsrepr="{}",
        )
    except PUBLISH_ERRORS as error:
        log.warning("dispatch.failed", task=task, turn_id=str(turn_id), error=type(error).__name__)


def workers_alive() -> bool:
    """Tell whether a worker that plans turns has said lately that it is there.

    Raises:
        Unavailable: Postgres does not answer.
    """
    with transaction() as db:
        return workers.are_alive(db, "plan", ALIVE)
