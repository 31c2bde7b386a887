"""Count the event streams that the clients of each key follow at this process, and refuse further ones."""

from collections import Counter
from collections.abc import Generator
from typing import TypeVar
from uuid import UUID

from turnloom.models.errors import RateLimited
from turnloom.models.runtime.settings import settings
from turnloom.web.auth import caller

Part = TypeVar("Part")

_RETRY_AFTER_S = 5.0
_open: Counter[UUID] = Counter()


def demand_place() -> None:
    """Refuse a further stream with the caller's key. Ask before anything is done for the stream.

    Raises:
        RateLimited: the key has as many streams as it may.
    """
    most = settings().api_streams_per_key
    if most and _open[caller().key_id] >= most:
        message = f"{most} event streams are open with this key, as many as it may have; close one, or wait for its end"
        raise RateLimited(message, code="too_many_streams", retry_after_s=_RETRY_AFTER_S)


def counted(told: Generator[Part, None, None]) -> Generator[Part, None, None]:
    """Pass a stream on, and count it as one of the caller's key from its first part until it ends or is closed."""
    key_id = caller().key_id
    _open[key_id] += 1
    try:
        yield from told
    finally:
        _open[key_id] -= 1
        if not _open[key_id]:
            del _open[key_id]
