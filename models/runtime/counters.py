"""Counts are kept in this process's memory; `models.runtime.metrics` hands them on."""

import os
import threading
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import lru_cache

from turnloom.models.errors import Unavailable

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of a histogram's buckets; one more holds the rest."""

Series = tuple[str, ...]
"""A metric's name and the values of its labels; for a histogram also the bucket's place, or `sum`."""


class Counts:
    """The counts of this process that have not been handed on yet. Any number of threads may use it."""

    def __init__(self) -> None:
        # Appending needs no lock and is all that a call pays for; `hand_on` adds up.
        self._fresh: deque[tuple[Series, float]] = deque()
        self._left: Counter[Series] = Counter()
        self._handing_on = threading.Lock()

    def add(self, *series: str) -> None:
        """Count one more of a series."""
        self._fresh.append((series, 1))

    def observe(self, seconds: float, *series: str) -> None:
        """Put a duration into a histogram."""
        self._fresh.append(((*series, str(bisect_left(BUCKETS_S, seconds))), 1))
        self._fresh.append(((*series, "sum"), seconds))

    def hand_on(self, write: Callable[[Mapping[Series, float]], object]) -> None:
        """Write the new counts; keep them for the next time if that raises `Unavailable`."""
        with self._handing_on:
            for _ in range(len(self._fresh)):
                series, amount = self._fresh.popleft()
                self._left[series] += amount  # type: ignore[assignment]  # a Counter adds up any numbers
            if not self._left:
                return
            try:
                write(self._left)
            except Unavailable:
                return
            self._left.clear()


@lru_cache
def counts() -> Counts:
    """Return this process's counts. A forked process has its own."""
    return Counts()


os.register_at_fork(after_in_child=counts.cache_clear)
