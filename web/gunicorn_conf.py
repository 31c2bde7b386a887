"""How gunicorn serves the application, in its own terms. Its main process reads this: nothing of ours is imported."""

import gc
import os
import signal
from typing import TYPE_CHECKING

from gunicorn.systemd import sd_notify

if TYPE_CHECKING:
    from gunicorn.arbiter import Arbiter
    from gunicorn.workers.base import Worker

_ALIVE_EVERY_S = 2.0
_YOUNG_COLLECTIONS = 10_000
"""Garbage collections of the young generation before one of the older ones, which looks through what all open requests
hold: with two thousand clients that stops the process for 10 to 200 ms. Python's own ten would mean two a second. What
a request leaves behind is dead, and so found, while it is young."""


def when_ready(server: "Arbiter") -> None:
    """Tell the supervisor from now on that the main process lives (`workers.upkeep.watchdog`). No fork has it."""

    def tell_alive(*_: object) -> None:
        sd_notify("WATCHDOG=1", server.log)

    signal.signal(signal.SIGALRM, tell_alive)
    signal.setitimer(signal.ITIMER_REAL, _ALIVE_EVERY_S, _ALIVE_EVERY_S)


def post_fork(server: object, worker: object) -> None:
    """Load the application without looking for garbage: `models.runtime.lean_imports` says why, in one piece."""
    del server, worker
    gc.disable()


def post_worker_init(worker: object) -> None:
    """Leave loaded objects out of garbage collection, look at the young ones only, and start handing on the counts."""
    from models.runtime.daemon import Daemon  # noqa: PLC0415 - the main process imports nothing of ours
    from models.runtime.metrics import HANDED_ON_S, hand_on  # noqa: PLC0415

    del worker
    gc.freeze()
    gc.set_threshold(gc.get_threshold()[0], _YOUNG_COLLECTIONS)
    gc.enable()
    Daemon("metrics", hand_on, every_s=HANDED_ON_S).start()


def worker_exit(server: object, worker: "Worker") -> None:
    """Hand on the last turns that were accepted, where open connections leave time for it; else the sweep does."""
    if worker.pid != os.getpid():
        return  # the main process tells of one that is gone
    from workers.dispatch import settle  # noqa: PLC0415 - the main process imports nothing of ours

    del server
    settle()
