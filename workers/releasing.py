"""Release: hand held turns to the planners when they are due and their tenants' windows have room.

Whoever ends a turn releases the next of its tenant in the same commit. What else makes room, and the time, which nobody
tells, is looked for here, five times a second: by a thread of each worker that takes maintenance, because a task would
come too late when all slots are busy. Nothing is kept in memory, so that no crash loses a turn; one that was released
and not sent is the sweep's.
"""

import threading
from typing import Any

from celery.signals import worker_ready, worker_shutdown

from models.crash_points import reach
from models.database import statement
from models.errors import Unavailable
from models.ledger import turns
from models.logging import log
from workers.dispatch import dispatch_turns

INTERVAL_S = 0.2

_stopping = threading.Event()


def release() -> None:
    """Send the held turns whose time has come."""
    with statement() as db:
        released = turns.release_due(db)
    if released:
        reach("turns.released")
    dispatch_turns(released)


def _run() -> None:
    while not _stopping.wait(INTERVAL_S):
        try:
            release()
        except Unavailable as error:
            log.warning("release.missed", error=error.code)
        except Exception:  # noqa: BLE001 - whatever it was, the next time must come
            log.exception("release.failed")


@worker_ready.connect
def _start(sender: Any, **_: Any) -> None:
    if "maintenance" in sender.app.amqp.queues.consume_from:
        threading.Thread(target=_run, name="release", daemon=True).start()


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    _stopping.set()
