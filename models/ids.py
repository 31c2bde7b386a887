"""Identifiers: one id for a row, a message, a log line, a URL and a trace."""

import os
import time
import uuid


def new_id() -> uuid.UUID:
    """Return a UUIDv7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then 74 random bits.

    Ids made later sort later, so that indexes grow at their right edge.
    """
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    high = (milliseconds << 16) | 0x7000 | (random >> 68)
    low = (0b10 << 62) | (random & ((1 << 62) - 1))
    return uuid.UUID(int=(high << 64) | low)
