"""Loading modules without looking for garbage among them: all of it stays."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Collect no garbage meanwhile, and pass over what is there at the end from then on.

    Looking through all that has been imported, again and again, takes a third of the time of importing it; later it
    takes a third of a second, in which nobody is served.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
