"""Lean imports load modules without garbage collection, and libraries without optional parts that we do not use."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Collect no garbage during the block, and exempt what it loaded from later collections.

    Collecting among the imported objects again and again takes a third of the time of importing them. Later one such
    collection takes a third of a second, during which nobody is served.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def without(*optional: str) -> Iterator[None]:
    """Load a library as if these of its optional dependencies were not installed.

    This is for a library that imports them if they are installed, for something that we do not use. Modules that are
    already loaded stay. After the block they can be imported as usual.
    """
    hidden = [name for name in optional if name not in sys.modules]
    # None in `sys.modules` is Python's own mark of a module that cannot be found.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # typeshed does not know None
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
