"""gunicorn's configuration. Its main process reads this module, so nothing of ours is imported here."""

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
"""Garbage collections of the young generation before one of the older generations. A collection of those looks through
everything that open requests hold; with two thousand clients it stops the process for 10 to 200 ms. With Python's
default of ten that would happen twice a second. What a request leaves behind is garbage while it is still young, so the
young collections find it."""


def when_ready(server: "Arbiter") -> None:
    """Tell the supervisor regularly that the main process lives (`workers.upkeep.watchdog`). Forks do not."""

    def tell_alive(*_: object) -> None:
        sd_notify("WATCHDOG=1", server.log)

    signal.signal(signal.SIGALRM, tell_alive)
    signal.setitimer(signal.ITIMER_REAL, _ALIVE_EVERY_S, _ALIVE_EVERY_S)


def post_fork(server: object, worker: object) -> None:
    """Switch garbage collection off while the application loads: `models.runtime.lean_imports` says why."""
    del server, worker
    gc.disable()


def post_worker_init(worker: object) -> None:
    """Exempt the loaded objects from garbage collection, mostly collect young ones, and start handing on the counts."""
    from turnloom.models.runtime.daemon import Daemon  # noqa: PLC0415 - the main process imports nothing of ours
    from turnloom.models.runtime.metrics import HANDED_ON_S, hand_on  # noqa: PLC0415 - see above

    del worker
    gc.freeze()
    gc.set_threshold(gc.get_threshold()[0], _YOUNG_COLLECTIONS)
    gc.enable()
    Daemon("metrics", hand_on, every_s=HANDED_ON_S).start()


def worker_exit(server: object, worker: "Worker") -> None:
    """Hand on the last accepted turns if open connections leave time for it; otherwise the sweep does so."""
    if worker.pid != os.getpid():
        return  # the main process calls this too, for a worker that is gone
    from turnloom.workers.dispatch import settle  # noqa: PLC0415 - the main process imports nothing of ours

    del server
    settle()
