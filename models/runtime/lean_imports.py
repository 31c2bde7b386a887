"""Loading modules: without looking for garbage among them, because all of it stays, and without what has no use."""

import gc
import sys
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


@contextmanager
def without(*optional: str) -> Iterator[None]:
    """Load a library as if these optional dependencies of it were not installed.

    For a library that imports them wherever it finds them, for something that we do not use. What is loaded already
    stays, and after the block they can be imported as ever.
    """
    hidden = [name for name in optional if name not in sys.modules]
    # Python's own way to say that a module cannot be found.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # typeshed does not know None
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
