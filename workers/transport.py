"""kombu's transport for Redis, with one client for all commands of a channel.

kombu 5.7 makes a client for each command, and redis-py 8 spends a third of what publishing costs on making one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from kombu.transport import redis


class _Channel(redis.Channel):
    @cached_property
    def _short_commands(self) -> Any:
        return self._create_client()  # type: ignore[attr-defined]

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        yield client or self._short_commands


class Transport(redis.Transport):
    """The transport of brokers named `redis://`."""

    Channel = _Channel
