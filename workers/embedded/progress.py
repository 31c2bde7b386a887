"""Progress of a start: what is up, and how long it took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Told = Callable[[str, float], None]
"""Is called with the name of a part that has come up, and the seconds it took."""


def tell_nobody(_name: str, _seconds: float) -> None:
    """Keep silent."""


@contextmanager
def timed(tell: Told, name: str) -> Iterator[None]:
    """Tell when the block has brought up a part; nothing where it fails."""
    began = time.monotonic()
    yield
    tell(name, time.monotonic() - began)
