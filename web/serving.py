"""How gunicorn serves the application, in its own terms. Its main process reads this: nothing of ours is imported."""

import gc


def post_worker_init(worker: object) -> None:
    """Let the collector of garbage pass over what has been loaded: all of it stays.

    To look through it takes a third of a second, in which nobody would be served.
    """
    del worker
    gc.collect()
    gc.freeze()


def worker_exit(server: object, worker: object) -> None:
    """Hand on the last turns that were accepted: the sweep would find them, but later."""
    from workers.dispatch import settle  # noqa: PLC0415 - the main process imports nothing of ours

    del server, worker
    settle()
