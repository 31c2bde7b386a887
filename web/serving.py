"""How gunicorn serves the application, in its own terms. Its main process reads this: nothing of ours is imported."""

import gc
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gunicorn.workers.base import Worker


def post_worker_init(worker: object) -> None:
    """Let the collector of garbage pass over what has been loaded: all of it stays.

    To look through it takes a third of a second, in which nobody would be served.
    """
    del worker
    gc.collect()
    gc.freeze()


def worker_exit(server: object, worker: "Worker") -> None:
    """Hand on the last turns that were accepted, where open connections leave time for it; else the sweep does."""
    if worker.pid != os.getpid():
        return  # the main process tells of one that is gone
    from workers.dispatch import settle  # noqa: PLC0415 - the main process imports nothing of ours

    del server
    settle()
