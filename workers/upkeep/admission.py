"""Admission hands held turns to the planners when they are due and their tenants' windows have room.

The commit that ends a turn also releases the tenant's next one. Turns that become due by time, or for which room
appears in another way, are found here five times a second. A thread of each maintenance worker does this, because a
task would come too late when all slots are busy. Nothing is kept in memory, so no crash loses a turn; the sweep finds a
turn that was released and not sent.
"""

from typing import Any

from celery.signals import worker_ready, worker_shutdown

from turnloom.models.connections.database import statement
from turnloom.models.ledger import turns
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.daemon import Daemon
from turnloom.workers.dispatch import dispatch_turns

INTERVAL_S = 0.2


def release() -> None:
    """Send the held turns that are due."""
    with statement() as db:
        released = turns.release_due(db)
    if released:
        reach("turns.released")
    dispatch_turns(released)


_releasing: list[Daemon] = []


@worker_ready.connect
def _start(sender: Any, **_: Any) -> None:
    if "maintenance" in sender.app.amqp.queues.consume_from:
        _releasing.append(Daemon("release", release, every_s=INTERVAL_S).start())


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    for daemon in _releasing:
        daemon.ask_to_stop()
