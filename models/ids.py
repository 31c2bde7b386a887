"""Identifiers: one id for a row, a message, a log line, a URL and a trace."""

import os
import time
import uuid
from datetime import datetime


def new_id() -> uuid.UUID:
    """Return a UUIDv7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then 74 random bits.

    Ids made later sort later, so that indexes grow at their right edge.
    """
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    high = (milliseconds << 16) | 0x7000 | (random >> 68)
    low = (0b10 << 62) | (random & ((1 << 62) - 1))
    return uuid.UUID(int=(high << 64) | low)


def first_id(at: datetime) -> uuid.UUID:
    """Return the lowest id that `new_id` can make at this moment: the ids of a span of time are a range."""
    milliseconds = int(at.timestamp() * 1000)
    return uuid.UUID(int=(milliseconds << 80) | (0x7 << 76) | (0b10 << 62))
