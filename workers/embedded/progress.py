"""Report the progress of a start: which parts are up, and how long each took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Told = Callable[[str, float], None]
"""A function that gets the name of a part that has come up and the seconds that it took."""


def tell_nobody(_name: str, _seconds: float) -> None:
    """Report nothing."""


@contextmanager
def timed(tell: Told, name: str) -> Iterator[None]:
    """Report the part that the block brings up; report nothing if the block fails."""
    began = time.monotonic()
    yield
    tell(name, time.monotonic() - began)
