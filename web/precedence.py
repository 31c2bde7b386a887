"""Precedence: a request that only reads gives way to what else is ready, so that a crowd of readers delays no message.

A web process runs one greenlet at a time, each until it waits for something, and looks for input only after dozens of
them. Requests that read and come together would all be answered before a message that comes with them.
"""

from gevent import get_hub, idle, monkey
from gevent.lock import BoundedSemaphore

_one_at_a_time = BoundedSemaphore()


def give_way() -> None:
    """Let everything else that is ready run first; of those who give way one goes on at a time. A thread just goes on.

    Nobody is kept out for ever: one goes on each time the process looks for input.
    """
    if not monkey.is_module_patched("threading"):
        return
    with _one_at_a_time:
        # With the highest priority it does not wait for a moment in which nothing else is ready.
        idle(get_hub().loop.MAXPRI)
