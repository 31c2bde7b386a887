"""Identifiers: one id for a row, a message, a log line, a URL and a trace."""

import os
import threading
import time
import uuid
from datetime import UTC, datetime

_RANDOM_BITS = 74
_STEP_BITS = 32
_FOLLOWED_MS = 10_000
"""How far the clock may go back and be ignored. If it goes back further, it was wrong before."""


class _Sequence:
    """The numbers that this process makes ids from: 48 bits of Unix milliseconds, then 74 random bits.

    Each is greater than the one before. Within a millisecond, or when the clock goes back by less than ten seconds, it
    is the last one plus a random step (RFC 9562, section 6.2, method 2).
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start over in a new process: it inherits its parent's numbers, and a lock that may be held."""
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        """Return the next number."""
        random = int.from_bytes(os.urandom((_RANDOM_BITS + _STEP_BITS + 7) // 8), "big")
        step = random >> _RANDOM_BITS
        with self._lock:
            fresh = ((time.time_ns() // 1_000_000) << _RANDOM_BITS) | (random & ((1 << _RANDOM_BITS) - 1))
            is_far_back = self._last - fresh > _FOLLOWED_MS << _RANDOM_BITS
            self._last = fresh if is_far_back else max(fresh, self._last + 1 + step)
            return self._last


_sequence = _Sequence()
os.register_at_fork(after_in_child=_sequence.reset)


def new_id() -> uuid.UUID:
    """Return a UUIDv7 (RFC 9562, section 5.7).

    Ids of one process sort by the order in which it made them. Ids of several processes sort by the millisecond, as far
    as their clocks agree.
    """
    number = _sequence.next()
    high, low = number >> 62, number & ((1 << 62) - 1)
    return uuid.UUID(int=((high >> 12) << 80) | (0x7 << 76) | ((high & 0xFFF) << 64) | (0b10 << 62) | low)


def first_id(at: datetime) -> uuid.UUID:
    """Return the lowest id that `new_id` can make at this moment. The ids of a span of time are a range."""
    milliseconds = int(at.timestamp() * 1000)
    return uuid.UUID(int=(milliseconds << 80) | (0x7 << 76) | (0b10 << 62))


def time_of(made: uuid.UUID) -> datetime:
    """Return when an id was made, to the millisecond."""
    return datetime.fromtimestamp((made.int >> 80) / 1_000, UTC)
