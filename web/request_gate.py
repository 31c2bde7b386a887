"""Limit how many requests use Postgres at a time, and refuse at once those that would wait too long.

A process has a few connections to Postgres. Some are reserved for accepting messages. Readers share the rest, so that
no number of readers delays a message.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import settings

COMMITS = 2
"""Commits of new turns at a time. With two, neither this process nor Postgres is idle while the other works."""
AT_ONCE = 16
"""Messages in a commit. More would save little, and the first would wait for the last."""
READ_AT_ONCE = 32
"""Reads that are answered together. More would save little, and a message that arrives meanwhile waits until all of
their results are read."""
_APART, _LOOKUPS, _SHARED_READS = 2, 1, 1
_PATIENCE_S, _READERS_PATIENCE_S = 1.0, 10.0
_RETRY_AFTER_S = 2.0
_WEIGHT = 0.1
"""Weight of the last piece of work in the average."""


class Gate:
    """A limit on how many run at a time. It lets only as many wait as will get through within the patience."""

    def __init__(self, at_once: int, patience_s: float, queue: str = "requests") -> None:
        """`queue`: what the refusal calls those that wait."""
        self._queue = queue
        self._at_once, self._patience_s = at_once, patience_s
        self._free = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._here = 0
        self._average_s = 0.0
        self._moved_at = 0.0

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Wait for a free place, then run the block.

        Raises:
            Unavailable: the wait would take, or takes, longer than the patience.
        """
        with self.admitted():
            if not self._free.acquire(timeout=2 * self._patience_s):
                raise self._overloaded()
            began = time.monotonic()
            try:
                yield
            finally:
                self._free.release()
                self.note(time.monotonic() - began)

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Count as one of those present while the block runs. The caller does the waiting, and calls `note`.

        Raises:
            Unavailable: those already present would take longer than the patience.
        """
        with self._lock:
            if self._here == 0:
                self._moved_at = time.monotonic()
            if self._expected_s() > self._patience_s:
                raise self._overloaded()
            self._here += 1
        try:
            yield
        finally:
            with self._lock:
                self._here -= 1

    def note(self, took_s: float) -> None:
        """Note that a piece of work has ended, which may have served several that waited."""
        with self._lock:
            self._average_s += (took_s - self._average_s) * _WEIGHT
            self._moved_at = time.monotonic()

    def _overloaded(self) -> Unavailable:
        message = f"too many {self._queue} are waiting; send this one again later"
        return Unavailable(message, code="overloaded", retry_after_s=_RETRY_AFTER_S)

    def _expected_s(self) -> float:
        """Return how long one more would wait. If nothing has ended for a while, expect as long a wait again."""
        stands_s = time.monotonic() - self._moved_at
        return max(self._here / self._at_once * self._average_s, stands_s / 2)


@lru_cache
def commits() -> Gate:
    """Return the gate for messages that are opened together."""
    return Gate(COMMITS * AT_ONCE, _PATIENCE_S, "messages")


@lru_cache
def readers() -> Gate:
    """Return the gate to the connections that are not reserved for accepting messages."""
    kept = COMMITS + _APART + _LOOKUPS + _SHARED_READS
    return Gate(max(1, settings().database_pool_size - kept), _READERS_PATIENCE_S)


@lru_cache
def shared_reads() -> Gate:
    """Return the gate for reads that are answered together."""
    return Gate(_SHARED_READS * READ_AT_ONCE, _READERS_PATIENCE_S, "readers")


@lru_cache
def apart() -> Gate:
    """Return the gate for messages that are opened by themselves."""
    return Gate(_APART, _PATIENCE_S, "messages to busy conversations")


@lru_cache
def lookups() -> Gate:
    """Return the gate for lookups that precede opening a message, such as that of its key."""
    return Gate(_LOOKUPS, _PATIENCE_S, "keys")
