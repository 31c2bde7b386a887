"""Let requests that only read give way to everything else that is ready, so that a crowd of readers delays no message.

A web process runs one greenlet at a time, each until it waits for something, and looks for input only after dozens of
them. Without this, a crowd of readers would all be answered before a message that comes with them.
"""

from gevent import get_hub, idle, monkey
from gevent.lock import BoundedSemaphore

_one_at_a_time = BoundedSemaphore()


def give_way() -> None:
    """Let everything else that is ready run first. Those that give way go on one at a time. A thread goes on at once.

    Nothing waits for ever: one goes on each time the process looks for input.
    """
    if not monkey.is_module_patched("threading"):
        return
    with _one_at_a_time:
        # The highest priority means not waiting for a moment when nothing else is ready.
        idle(get_hub().loop.MAXPRI)
