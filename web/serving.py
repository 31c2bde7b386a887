"""How gunicorn serves the application, in its own terms. Its main process reads this: nothing of ours is imported."""

import gc


def post_worker_init(worker: object) -> None:
    """Let the collector of garbage pass over what has been loaded: all of it stays.

    To look through it takes a third of a second, in which nobody would be served.
    """
    del worker
    gc.collect()
    gc.freeze()
